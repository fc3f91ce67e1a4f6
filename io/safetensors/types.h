// The element types of safetensors by name and size (shared by its reader and its writer).
#ifndef BERTH_IO_SAFETENSORS_TYPES_H_
#define BERTH_IO_SAFETENSORS_TYPES_H_

#include <optional>
#include <span>
#include <string_view>

#include "io/safetensors/safetensors.h"

namespace berth::io {

std::optional<SafetensorsType> SafetensorsTypeFromName(std::string_view name);
// False on overflow.
bool SafetensorsShapeBytes(std::span<const uint64_t> shape, SafetensorsType type, uint64_t* bytes);

}  // namespace berth::io

#endif  // BERTH_IO_SAFETENSORS_TYPES_H_
