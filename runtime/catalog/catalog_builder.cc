#include "runtime/catalog/catalog_builder.h"

#include <algorithm>

#include "runtime/base/math.h"
#include "runtime/catalog/pack_layout.h"
#include "runtime/catalog/siblings.h"
#include "runtime/catalog/sidecar.h"

namespace berth {

using catalog::BlockTensors;
using catalog::LayerPlan;
using catalog::UnitTensor;

namespace {

kernels::MatrixSpec MatrixOf(const UnitTensor& tensor) {
  return {tensor.format->type, tensor.rows, tensor.cols, tensor.row_bytes, tensor.card_offset};
}

// A fused tensor is two matrices into the same bytes.
void SetFused(const UnitTensor& tensor, bool gate_first, kernels::ExpertSpec* spec) {
  kernels::MatrixSpec first = MatrixOf(tensor);
  first.rows = tensor.rows / 2;
  kernels::MatrixSpec second = first;
  second.offset = first.offset + first.rows * first.row_bytes;
  spec->gate = gate_first ? first : second;
  spec->up = gate_first ? second : first;
}

kernels::ExpertSpec SpecOf(const LayerPlan& plan, const kernels::ExpertConventions& conventions) {
  kernels::ExpertSpec spec;
  spec.experts = plan.experts;
  spec.hidden = plan.hidden;
  spec.ffn = plan.ffn;
  spec.conventions = conventions;
  spec.unit_bytes = plan.unit_bytes;
  for (const UnitTensor& tensor : plan.tensors) {
    switch (tensor.role) {
      case TensorRole::kGate:
        spec.gate = MatrixOf(tensor);
        break;
      case TensorRole::kUp:
        spec.up = MatrixOf(tensor);
        break;
      case TensorRole::kDown:
        spec.down = MatrixOf(tensor);
        break;
      case TensorRole::kGateUp:
        SetFused(tensor, conventions.gate_first, &spec);
        break;
    }
  }
  return spec;
}

}  // namespace

Result<std::unique_ptr<Catalog>> CatalogBuilder::Build() {
  for (const io::GgufFile& file : shards_.files) {
    catalog_->files_.push_back({file.path, file.bytes});
  }
  BERTH_ASSIGN_OR_RETURN(model_, catalog::ReadModelMetadata(shards_, options_.conventions));
  catalog_->architecture_ = model_.architecture;
  catalog_->model_name_ = model_.name;
  catalog_->top_k_ = model_.top_k;
  BERTH_RETURN_IF_ERROR(PlanLayers());
  AddSizeClasses();
  BERTH_RETURN_IF_ERROR(LoadChecksums());
  return std::move(catalog_);
}

Status CatalogBuilder::PlanLayers() {
  BERTH_ASSIGN_OR_RETURN(const auto blocks, catalog::CollectExpertTensors(shards_));
  BERTH_RETURN_IF_ERROR(CheckBlocks(blocks));
  BERTH_ASSIGN_OR_RETURN(catalog_->is_pack_, catalog::IsPack(shards_));
  for (const auto& [block, tensors] : blocks) {
    if (!tensors.has_experts()) continue;
    BERTH_ASSIGN_OR_RETURN(const LayerPlan plan,
                           catalog_->is_pack_
                               ? catalog::PlanPackedLayer(shards_, model_, block, tensors)
                               : catalog::PlanPlainLayer(model_, block, tensors));
    BERTH_RETURN_IF_ERROR(AddLayer(plan, tensors));
  }
  if (catalog_->layers_.empty()) {
    return InvalidArgumentError(model_.path +
                                ": no block has routed experts (expected tensors "
                                "like blk.0.ffn_down_exps.weight): a dense model");
  }
  const uint64_t all = model_.block_count.value_or(blocks.size());
  catalog_->dense_layers_ = static_cast<uint32_t>(all - catalog_->layers_.size());
  return Status();
}

Status CatalogBuilder::CheckBlocks(const std::map<uint32_t, BlockTensors>& blocks) {
  const std::string count_key = model_.architecture + ".block_count";
  for (const auto& [block, tensors] : blocks) {
    const std::string where = model_.path + ": blk." + std::to_string(block);
    if (tensors.router && !tensors.has_experts()) {
      return InvalidArgumentError(where + " has a router (" + tensors.router.tensor->name +
                                  ") but no expert tensors: expected gate, up and down");
    }
    if (!tensors.has_experts()) continue;
    if (model_.block_count && block >= *model_.block_count) {
      return InvalidArgumentError(where + " has experts, but " + count_key + " is " +
                                  std::to_string(*model_.block_count));
    }
    if (model_.leading_dense && block < *model_.leading_dense) {
      return InvalidArgumentError(where + " has experts, but " + model_.architecture +
                                  ".leading_dense_block_count is " +
                                  std::to_string(*model_.leading_dense));
    }
    if (tensors.pack && shards_.Find(catalog::kPackVersionKey) == nullptr) {
      return InvalidArgumentError(tensors.pack.Where() + " is of a pack, but " +
                                  std::string(catalog::kPackVersionKey) + " is absent");
    }
  }
  return Status();
}

Status CatalogBuilder::AddLayer(const LayerPlan& plan, const BlockTensors& tensors) {
  const std::string where = model_.path + ": blk." + std::to_string(plan.block);
  if (catalog_->layers_.empty()) {
    catalog_->experts_ = plan.experts;
    catalog_->hidden_ = plan.hidden;
  } else if (plan.experts != catalog_->experts_ || plan.hidden != catalog_->hidden_) {
    return InvalidArgumentError(where + " has " + std::to_string(plan.experts) +
                                " experts of width " + std::to_string(plan.hidden) + ": expected " +
                                std::to_string(catalog_->experts_) + " of " +
                                std::to_string(catalog_->hidden_) + ", as the layers before");
  }
  if (uint64_t{plan.experts} * (catalog_->layers_.size() + 1) >= kNoUnit / kMaxExtents) {
    return InvalidArgumentError(where + ": the model has too many units");
  }
  CatalogLayer layer;
  layer.block = plan.block;
  layer.extent_count = plan.packed ? 1 : static_cast<uint32_t>(plan.tensors.size());
  layer.spec = SpecOf(plan, model_.conventions);
  const bool fused = plan.tensors.front().role == TensorRole::kGateUp;
  BERTH_RETURN_IF_ERROR(catalog::LoadSiblings(tensors, fused, &layer.spec));
  catalog_->layers_.push_back(std::move(layer));
  AddExtents(plan);
  return Status();
}

void CatalogBuilder::AddExtents(const LayerPlan& plan) {
  std::vector<Extent>& extents = catalog_->extents_;
  extents.reserve(extents.size() + size_t{plan.experts} * kMaxExtents);
  for (uint64_t expert = 0; expert < plan.experts; ++expert) {
    const size_t first = extents.size();
    if (plan.packed) {
      extents.push_back({plan.pack_file, plan.pack_offset + expert * plan.pack_stride,
                         static_cast<uint32_t>(plan.payload_end), 0, plan.tensors[0].role});
    } else {
      for (const UnitTensor& tensor : plan.tensors) {
        extents.push_back({tensor.file, tensor.file_offset + expert * tensor.bytes,
                           static_cast<uint32_t>(tensor.bytes),
                           static_cast<uint32_t>(tensor.card_offset), tensor.role});
      }
    }
    extents.resize(first + kMaxExtents);
  }
}

void CatalogBuilder::AddSizeClasses() {
  for (uint32_t index = 0; index < catalog_->layers(); ++index) {
    CatalogLayer& layer = catalog_->layers_[index];
    SizeClass made;
    made.card_bytes = layer.spec.unit_bytes;
    for (uint32_t expert = 0; expert < catalog_->experts_; ++expert) {
      uint64_t payload = 0;
      uint64_t host = 0;
      for (const Extent& extent : catalog_->extents(catalog_->unit({index, expert}))) {
        payload += extent.bytes;
        host += AlignUp(extent.offset % kIoAlign + extent.bytes, kIoAlign);
      }
      made.payload_bytes = payload;
      made.host_bytes = std::max(made.host_bytes, host);
    }
    auto& classes = catalog_->size_classes_;
    auto at = std::find_if(classes.begin(), classes.end(), [&](const SizeClass& other) {
      return other.card_bytes == made.card_bytes && other.payload_bytes == made.payload_bytes;
    });
    if (at == classes.end()) at = classes.insert(classes.end(), made);
    at->host_bytes = std::max(at->host_bytes, made.host_bytes);
    at->layers.push_back(index);
    layer.size_class = static_cast<uint32_t>(at - classes.begin());
  }
}

Status CatalogBuilder::LoadChecksums() {
  std::vector<catalog::UnitSums> sums;
  if (catalog_->is_pack_) {
    BERTH_ASSIGN_OR_RETURN(
        sums, catalog::ReadPackChecksums(shards_, catalog_->layers(), catalog_->experts_));
  } else if (!options_.ignore_sidecar) {
    BERTH_ASSIGN_OR_RETURN(sums, catalog::ReadSidecar(*catalog_));
  }
  catalog_->checksums_.reserve(sums.size());
  for (const catalog::UnitSums& unit : sums) catalog_->checksums_.push_back(unit.unit);
  return Status();
}

}  // namespace berth
