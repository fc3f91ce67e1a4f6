#include "runtime/pack/tensor_size.h"

#include "kernels/formats/format.h"
#include "runtime/base/math.h"

namespace berth::models {
namespace {

struct BlockSize {
  uint32_t elements = 0;
  uint32_t bytes = 0;
};

// The types that no expert has, by id (github.com/ggml-org/ggml, ggml.h).
BlockSize PlainBlock(uint32_t type) {
  switch (type) {
    case 0:
      return {1, 4};  // F32
    case 24:
      return {1, 1};  // I8
    case 25:
      return {1, 2};  // I16
    case 26:
      return {1, 4};  // I32
    case 27:
      return {1, 8};  // I64
    case 28:
      return {1, 8};  // F64
    default:
      return {};
  }
}

}  // namespace

std::optional<uint64_t> TensorBytes(const io::GgufTensor& tensor) {
  BlockSize block = PlainBlock(tensor.type);
  if (const auto* format = kernels::FindFormat(static_cast<TensorType>(tensor.type))) {
    block = {format->block_elements, format->block_bytes};
  }
  if (block.elements == 0 || tensor.ne[0] % block.elements != 0) return std::nullopt;
  uint64_t bytes = 0;
  if (!CheckedMul(tensor.ne[0] / block.elements, block.bytes, &bytes)) return std::nullopt;
  for (uint32_t d = 1; d < tensor.dims; ++d) {
    if (!CheckedMul(bytes, tensor.ne[d], &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace berth::models
