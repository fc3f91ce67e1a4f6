// Sizes of tensors of any kind, as far as their types are known.
#ifndef BERTH_RUNTIME_PACK_TENSOR_SIZE_H_
#define BERTH_RUNTIME_PACK_TENSOR_SIZE_H_

#include <cstdint>
#include <optional>

#include "io/gguf/gguf.h"

namespace berth::models {

// Bytes of the tensor's data; absent for a type that is not known or a size beyond 64 bits.
std::optional<uint64_t> TensorBytes(const io::GgufTensor& tensor);

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_TENSOR_SIZE_H_
