#include "runtime/catalog/layer_plan.h"

#include <optional>

#include "runtime/base/math.h"

namespace berth::catalog {
namespace {

// Ids of expert tensors are int32 in traces and calls; real models have at most a few thousand.
constexpr uint64_t kMaxExperts = 1 << 20;
constexpr uint64_t kMaxExtent = 1u << 30;  // rows or columns

const TensorAt& WeightOf(const BlockTensors& tensors, TensorRole role) {
  return tensors.at(role, ExpertPart::kWeight);
}

std::string Names(const std::vector<TensorRole>& roles) {
  std::string text;
  for (TensorRole role : roles) {
    if (!text.empty()) text += ", ";
    text += TensorRoleName(role);
  }
  return text.empty() ? "none" : text;
}

Status Mismatch(const std::string& where, std::string_view what, uint64_t found, uint64_t expected,
                std::string_view expected_by) {
  return InvalidArgumentError(where + ": " + std::string(what) + " is " + std::to_string(found) +
                              ": expected " + std::to_string(expected) + " (" +
                              std::string(expected_by) + ")");
}

const UnitTensor* TensorOf(const LayerPlan& plan, TensorRole role) {
  for (const UnitTensor& tensor : plan.tensors) {
    if (tensor.role == role) return &tensor;
  }
  return nullptr;
}

// Gate and up are [ffn][hidden], down is [hidden][ffn].
Status CheckShapes(const std::string& where, LayerPlan* plan) {
  const UnitTensor& down = *TensorOf(*plan, TensorRole::kDown);
  plan->hidden = down.rows;
  plan->ffn = down.cols;
  for (const UnitTensor& tensor : plan->tensors) {
    if (tensor.role == TensorRole::kDown) continue;
    const bool fused = tensor.role == TensorRole::kGateUp;
    const std::string name(TensorRoleName(tensor.role));
    if (tensor.cols != plan->hidden) {
      return Mismatch(where, "the inputs of " + name, tensor.cols, plan->hidden,
                      "the outputs of down");
    }
    const uint64_t rows = fused ? uint64_t{2} * plan->ffn : plan->ffn;
    if (tensor.rows != rows) {
      return Mismatch(where, "the outputs of " + name, tensor.rows, rows,
                      fused ? "twice the inputs of down" : "the inputs of down");
    }
  }
  return Status();
}

}  // namespace

Status CheckRoles(const std::string& where, const ModelMetadata& model,
                  const std::vector<TensorRole>& found) {
  const std::vector<TensorRole> split = {TensorRole::kGate, TensorRole::kUp, TensorRole::kDown};
  const std::vector<TensorRole> fused = {TensorRole::kGateUp, TensorRole::kDown};
  const std::vector<TensorRole> gateless = {TensorRole::kUp, TensorRole::kDown};
  const bool has_gate = model.conventions.has_gate();
  if (found == (has_gate ? split : gateless) || (has_gate && found == fused)) return Status();
  const std::string expected = has_gate ? "3 (" + Names(split) + ") or 2 (" + Names(fused) + ")"
                                        : "2 (" + Names(gateless) + ")";
  return InvalidArgumentError(where + " has " + std::to_string(found.size()) + " expert tensors (" +
                              Names(found) + "): expected " + expected + " for the " +
                              std::string(kernels::ActivationName(model.conventions.activation)) +
                              " of architecture '" + model.architecture + "'");
}

Status SizeTensor(const std::string& where, uint32_t type, uint64_t cols, uint64_t rows,
                  UnitTensor* tensor) {
  tensor->format = kernels::FindFormat(static_cast<TensorType>(type));
  if (tensor->format == nullptr) {
    return UnimplementedError(where + " has type id " + std::to_string(type) +
                              ", which is not served for experts");
  }
  if (cols == 0 || rows == 0 || cols > kMaxExtent || rows > kMaxExtent) {
    return InvalidArgumentError(where + " has experts of " + std::to_string(cols) + " x " +
                                std::to_string(rows) + ": expected 1 to 2^30 each way");
  }
  tensor->cols = static_cast<uint32_t>(cols);
  tensor->rows = static_cast<uint32_t>(rows);
  Result<uint64_t> row_bytes = kernels::RowBytes(*tensor->format, cols);
  if (!row_bytes.ok()) return row_bytes.status().Annotate(where);
  tensor->row_bytes = *row_bytes;
  if (!CheckedMul(*row_bytes, rows, &tensor->bytes) || tensor->bytes > kMaxUnitTensorBytes) {
    return InvalidArgumentError(where + " has experts of " + std::to_string(rows) + " rows of " +
                                std::to_string(*row_bytes) + " bytes: expected at most " +
                                std::to_string(kMaxUnitTensorBytes) + " bytes together");
  }
  return Status();
}

Status FinishPlan(const std::string& where, const ModelMetadata& model, LayerPlan* plan) {
  BERTH_RETURN_IF_ERROR(CheckShapes(where, plan));
  const std::string prefix = model.architecture + ".";
  if (model.hidden && *model.hidden != plan->hidden) {
    return Mismatch(where, "the outputs of down", plan->hidden, *model.hidden,
                    prefix + "embedding_length");
  }
  if (model.ffn && *model.ffn != plan->ffn) {
    return Mismatch(where, "the inputs of down", plan->ffn, *model.ffn,
                    prefix + "expert_feed_forward_length");
  }
  if (model.experts && *model.experts != plan->experts) {
    return Mismatch(where, "the number of experts", plan->experts, *model.experts,
                    prefix + "expert_count");
  }
  if (plan->experts == 0 || plan->experts > kMaxExperts || plan->experts < model.top_k) {
    return InvalidArgumentError(where + ": the number of experts is " +
                                std::to_string(plan->experts) + ": expected " +
                                std::to_string(model.top_k) + " (" + prefix +
                                "expert_used_count) to " + std::to_string(kMaxExperts));
  }
  uint64_t end = 0;
  for (UnitTensor& tensor : plan->tensors) {
    tensor.card_offset = AlignUp(end, kCardAlign);
    end = tensor.card_offset + tensor.bytes;
  }
  plan->payload_end = end;
  plan->unit_bytes = AlignUp(end, kCardAlign);
  return Status();
}

Result<LayerPlan> PlanPlainLayer(const ModelMetadata& model, uint32_t block,
                                 const BlockTensors& tensors) {
  LayerPlan plan;
  plan.block = block;
  const std::string where = model.path + ": blk." + std::to_string(block);
  std::vector<TensorRole> roles;
  for (TensorRole role :
       {TensorRole::kGate, TensorRole::kUp, TensorRole::kGateUp, TensorRole::kDown}) {
    if (WeightOf(tensors, role)) roles.push_back(role);
  }
  BERTH_RETURN_IF_ERROR(CheckRoles(where, model, roles));
  for (TensorRole role : roles) {
    const TensorAt& at = WeightOf(tensors, role);
    if (at.tensor->dims != 3) {
      return InvalidArgumentError(at.Where() + " has shape " + at.tensor->Shape() +
                                  ": expected inputs x outputs x experts");
    }
    UnitTensor tensor;
    tensor.role = role;
    BERTH_RETURN_IF_ERROR(
        SizeTensor(at.Where(), at.tensor->type, at.tensor->ne[0], at.tensor->ne[1], &tensor));
    const uint64_t experts = at.tensor->ne[2];
    if (plan.tensors.empty()) {
      if (experts > kMaxExperts)
        return Mismatch(at.Where(), "the number of experts", experts, kMaxExperts,
                        "the most that is served");
      plan.experts = static_cast<uint32_t>(experts);
    } else if (experts != plan.experts) {
      return Mismatch(at.Where(), "the number of experts", experts, plan.experts,
                      "the layer's other tensors");
    }
    // Both factors are bounded: at most 2^30 * 2^20.
    const uint64_t bytes = tensor.bytes * plan.experts;
    if (bytes > at.tensor->room_bytes) {
      return DataLossError(at.Where() + " has " + std::to_string(bytes) + " bytes at byte " +
                           std::to_string(at.tensor->offset) +
                           ": the next tensor or the end of "
                           "the file comes after " +
                           std::to_string(at.tensor->room_bytes) +
                           "; the file is truncated or damaged");
    }
    tensor.file = at.file_index;
    tensor.file_offset = at.tensor->offset;
    plan.tensors.push_back(tensor);
  }
  BERTH_RETURN_IF_ERROR(FinishPlan(where, model, &plan));
  return plan;
}

}  // namespace berth::catalog
