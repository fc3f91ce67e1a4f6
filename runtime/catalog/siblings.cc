#include "runtime/catalog/siblings.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "io/file/byte_source.h"

namespace berth::catalog {
namespace {

// IEEE 754 binary16. The value of a subnormal is mantissa * 2^-24, exact in F32.
float HalfToFloat(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

float Bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

Result<std::vector<float>> ReadFloats(const TensorAt& at, uint64_t count) {
  const auto type = static_cast<TensorType>(at.tensor->type);
  const bool wide = type == TensorType::kF32;
  if (!wide && type != TensorType::kF16 && type != TensorType::kBF16) {
    return UnimplementedError(at.Where() + " has type id " + std::to_string(at.tensor->type) +
                              ": expected F32, F16 or BF16");
  }
  const uint64_t width = wide ? 4 : 2;
  if (count * width > at.tensor->room_bytes) {
    return DataLossError(at.Where() + " has " + std::to_string(count * width) + " bytes, only " +
                         std::to_string(at.tensor->room_bytes) +
                         " are there; the file is truncated or damaged");
  }
  BERTH_ASSIGN_OR_RETURN(auto source, io::FileSource::Open(at.file->path));
  std::vector<float> values(count);
  if (wide) {
    BERTH_RETURN_IF_ERROR(
        source->ReadAt(at.tensor->offset, std::as_writable_bytes(std::span(values))));
  } else {
    std::vector<uint16_t> raw(count);
    BERTH_RETURN_IF_ERROR(
        source->ReadAt(at.tensor->offset, std::as_writable_bytes(std::span(raw))));
    for (uint64_t i = 0; i < count; ++i) {
      values[i] = type == TensorType::kF16 ? HalfToFloat(raw[i]) : Bfloat16ToFloat(raw[i]);
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    return InvalidArgumentError(at.Where() + " has a value that is not finite at element " +
                                std::to_string(i));
  }
  return values;
}

// `inner` figures per expert: {inner, experts}, or {experts} where inner is 1.
Result<std::vector<float>> ReadSibling(const TensorAt& at, uint64_t inner, uint32_t experts) {
  if (!at) return std::vector<float>();
  const io::GgufTensor& tensor = *at.tensor;
  const bool pairs = tensor.ne[0] == inner && tensor.ne[1] == experts && tensor.ne[2] == 1;
  const bool single =
      inner == 1 && tensor.ne[0] == experts && tensor.ne[1] == 1 && tensor.ne[2] == 1;
  if ((!pairs && !single) || tensor.ne[3] != 1) {
    return InvalidArgumentError(at.Where() + " has shape " + tensor.Shape() + ": expected " +
                                (inner == 1 ? "" : std::to_string(inner) + " x ") +
                                std::to_string(experts));
  }
  return ReadFloats(at, inner * experts);
}

Status LoadRole(const BlockTensors& tensors, TensorRole role, uint64_t rows, uint32_t experts,
                kernels::SiblingSpec* sibling) {
  BERTH_ASSIGN_OR_RETURN(sibling->bias,
                         ReadSibling(tensors.at(role, ExpertPart::kBias), rows, experts));
  BERTH_ASSIGN_OR_RETURN(sibling->scale,
                         ReadSibling(tensors.at(role, ExpertPart::kScale), 1, experts));
  return ReadSibling(tensors.at(role, ExpertPart::kInputScale), 1, experts).status();
}

// Bias rows [first, first + ffn) of each expert's 2 * ffn.
std::vector<float> HalfOfBias(const std::vector<float>& fused, uint32_t experts, uint32_t ffn,
                              uint32_t first) {
  std::vector<float> half;
  half.reserve(fused.size() / 2);
  for (uint32_t e = 0; e < experts && !fused.empty(); ++e) {
    const auto begin = fused.begin() + static_cast<ptrdiff_t>(uint64_t{e} * 2 * ffn + first);
    half.insert(half.end(), begin, begin + ffn);
  }
  return half;
}

// A sibling without its weight would be dropped silently otherwise.
Status CheckOwned(const BlockTensors& tensors, TensorRole role, bool owned) {
  for (ExpertPart part : {ExpertPart::kBias, ExpertPart::kScale, ExpertPart::kInputScale}) {
    const TensorAt& at = tensors.at(role, part);
    if (at && !owned) {
      return InvalidArgumentError(at.Where() + " belongs to a weight that the layer has not");
    }
  }
  return Status();
}

}  // namespace

Status LoadSiblings(const BlockTensors& tensors, bool fused, kernels::ExpertSpec* spec) {
  const uint32_t experts = spec->experts;
  const uint32_t ffn = spec->ffn;
  const bool has_gate = spec->conventions.has_gate();
  BERTH_RETURN_IF_ERROR(CheckOwned(tensors, TensorRole::kGateUp, fused));
  BERTH_RETURN_IF_ERROR(CheckOwned(tensors, TensorRole::kGate, has_gate && !fused));
  BERTH_RETURN_IF_ERROR(CheckOwned(tensors, TensorRole::kUp, !fused));
  BERTH_RETURN_IF_ERROR(
      LoadRole(tensors, TensorRole::kDown, spec->hidden, experts, &spec->down_sibling));
  if (!fused) {
    BERTH_RETURN_IF_ERROR(LoadRole(tensors, TensorRole::kGate, ffn, experts, &spec->gate_sibling));
    return LoadRole(tensors, TensorRole::kUp, ffn, experts, &spec->up_sibling);
  }
  kernels::SiblingSpec both;
  BERTH_RETURN_IF_ERROR(LoadRole(tensors, TensorRole::kGateUp, uint64_t{2} * ffn, experts, &both));
  const bool gate_first = spec->conventions.gate_first;
  spec->gate_sibling.bias = HalfOfBias(both.bias, experts, ffn, gate_first ? 0 : ffn);
  spec->up_sibling.bias = HalfOfBias(both.bias, experts, ffn, gate_first ? ffn : 0);
  spec->gate_sibling.scale = both.scale;
  spec->up_sibling.scale = both.scale;
  return Status();
}

}  // namespace berth::catalog
