#include "runtime/catalog/pack_layout.h"

#include <memory>
#include <span>

#include "io/file/byte_source.h"
#include "runtime/base/math.h"

namespace berth::catalog {
namespace {

constexpr size_t kFiguresPerTensor = 4;  // role, type, rows, columns

// Fills plan->tensors from berth.pack.blk.N.tensors.
Status ReadUnitTensors(const io::GgufShards& shards, const ModelMetadata& model,
                       const std::string& where, LayerPlan* plan) {
  const std::string key = PackTensorsKey(plan->block);
  const io::GgufKeyValue* entry = shards.Find(key);
  if (entry == nullptr) return InvalidArgumentError(where + ": " + key + " is absent");
  const auto figures = entry->AsUintArray();
  if (!figures || figures->empty() || figures->size() % kFiguresPerTensor != 0 ||
      figures->size() > kRoles * kFiguresPerTensor) {
    return InvalidArgumentError(where + ": " + key +
                                " is damaged: expected role, type, rows and columns per tensor");
  }
  std::vector<TensorRole> roles;
  for (size_t i = 0; i < figures->size(); i += kFiguresPerTensor) {
    const uint64_t role = (*figures)[i];
    const uint64_t type = (*figures)[i + 1];
    if (role >= kRoles || type > UINT32_MAX) {
      return InvalidArgumentError(where + ": " + key + " is damaged: role " + std::to_string(role) +
                                  ", type " + std::to_string(type));
    }
    UnitTensor tensor;
    tensor.role = static_cast<TensorRole>(role);
    BERTH_RETURN_IF_ERROR(SizeTensor(where + " " + std::string(TensorRoleName(tensor.role)),
                                     static_cast<uint32_t>(type), (*figures)[i + 3],
                                     (*figures)[i + 2], &tensor));
    roles.push_back(tensor.role);
    plan->tensors.push_back(tensor);
  }
  return CheckRoles(where, model, roles);
}

Status CheckNoPlainWeights(const BlockTensors& tensors, const std::string& where) {
  for (size_t role = 0; role < kRoles; ++role) {
    const TensorAt& at = tensors.at(static_cast<TensorRole>(role), ExpertPart::kWeight);
    if (at) {
      return InvalidArgumentError(where + " has both packed experts and " + at.tensor->name);
    }
  }
  return Status();
}

}  // namespace

std::string PackTensorName(uint32_t block) {
  return "blk." + std::to_string(block) + ".ffn_exps.pack";
}
std::string PackTensorsKey(uint32_t block) {
  return "berth.pack.blk." + std::to_string(block) + ".tensors";
}

Result<bool> IsPack(const io::GgufShards& shards) {
  const io::GgufKeyValue* entry = shards.Find(kPackVersionKey);
  if (entry == nullptr) return false;
  const auto version = entry->AsUint();
  if (version == kPackVersion) return true;
  return UnimplementedError(shards.files[0].path + ": " + std::string(kPackVersionKey) + " is " +
                            (version ? std::to_string(*version) : "no number") + ": expected " +
                            std::to_string(kPackVersion) + "; pack the model again");
}

Result<LayerPlan> PlanPackedLayer(const io::GgufShards& shards, const ModelMetadata& model,
                                  uint32_t block, const BlockTensors& tensors) {
  LayerPlan plan;
  plan.block = block;
  plan.packed = true;
  const std::string where = model.path + ": blk." + std::to_string(block);
  if (!tensors.pack) {
    return InvalidArgumentError(where + ": " + PackTensorName(block) + " is absent from the pack");
  }
  BERTH_RETURN_IF_ERROR(CheckNoPlainWeights(tensors, where));
  const io::GgufTensor& at = *tensors.pack.tensor;
  if (at.dims != 2 || at.type != kGgmlTypeI8 || at.ne[1] > UINT32_MAX || at.ne[0] % kIoAlign != 0 ||
      at.offset % kIoAlign != 0) {
    return InvalidArgumentError(tensors.pack.Where() + " has shape " + at.Shape() + ", type id " +
                                std::to_string(at.type) + " and begins at byte " +
                                std::to_string(at.offset) +
                                ": expected a stride x experts, type id 24, multiples of 4096");
  }
  plan.experts = static_cast<uint32_t>(at.ne[1]);
  plan.pack_file = tensors.pack.file_index;
  plan.pack_offset = at.offset;
  plan.pack_stride = at.ne[0];
  BERTH_RETURN_IF_ERROR(ReadUnitTensors(shards, model, where, &plan));
  BERTH_RETURN_IF_ERROR(FinishPlan(where, model, &plan));
  uint64_t bytes = 0;
  if (plan.pack_stride < plan.payload_end || plan.payload_end > kMaxUnitTensorBytes) {
    return InvalidArgumentError(tensors.pack.Where() + " has units of " +
                                std::to_string(plan.pack_stride) + " bytes: expected " +
                                std::to_string(plan.payload_end) + " to 1 GiB");
  }
  if (!CheckedMul(plan.pack_stride, plan.experts, &bytes) || bytes > at.room_bytes) {
    return DataLossError(tensors.pack.Where() + " has " + std::to_string(plan.experts) +
                         " units of " + std::to_string(plan.pack_stride) + " bytes, only " +
                         std::to_string(at.room_bytes) +
                         " bytes are there; the file is truncated or damaged");
  }
  return plan;
}

Result<std::vector<UnitSums>> ReadPackChecksums(const io::GgufShards& shards, uint32_t layers,
                                                uint32_t experts) {
  for (const io::GgufFile& file : shards.files) {
    for (const io::GgufTensor& tensor : file.tensors) {
      if (tensor.name != kPackChecksumsName) continue;
      const uint64_t units = uint64_t{layers} * experts;
      if (tensor.type != kGgmlTypeI64 || tensor.dims != 3 || tensor.ne[0] != kSumsPerUnit ||
          tensor.ne[1] != experts || tensor.ne[2] != layers) {
        return InvalidArgumentError(file.path + ": " + tensor.name + " has shape " +
                                    tensor.Shape() + ": expected " + std::to_string(kSumsPerUnit) +
                                    " x " + std::to_string(experts) + " x " +
                                    std::to_string(layers) + " of type id 27");
      }
      if (units * sizeof(UnitSums) > tensor.room_bytes) {
        return DataLossError(file.path + ": " + tensor.name + " is truncated");
      }
      BERTH_ASSIGN_OR_RETURN(auto source, io::FileSource::Open(file.path));
      std::vector<UnitSums> checksums(units);
      BERTH_RETURN_IF_ERROR(
          source->ReadAt(tensor.offset, std::as_writable_bytes(std::span(checksums))));
      return checksums;
    }
  }
  return InvalidArgumentError(shards.files[0].path + ": " + std::string(kPackChecksumsName) +
                              " is absent from the pack");
}

}  // namespace berth::catalog
