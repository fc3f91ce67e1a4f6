#include "io/safetensors/types.h"

#include <array>

#include "runtime/base/math.h"

namespace berth::io {
namespace {

struct TypeRow {
  std::string_view name;
  uint32_t bytes;
};
// In the order of SafetensorsType.
constexpr std::array<TypeRow, 15> kTypes = {{{"BOOL", 1},
                                             {"U8", 1},
                                             {"I8", 1},
                                             {"F8_E5M2", 1},
                                             {"F8_E4M3", 1},
                                             {"U16", 2},
                                             {"I16", 2},
                                             {"F16", 2},
                                             {"BF16", 2},
                                             {"U32", 4},
                                             {"I32", 4},
                                             {"F32", 4},
                                             {"U64", 8},
                                             {"I64", 8},
                                             {"F64", 8}}};
static_assert(kTypes.size() == static_cast<size_t>(SafetensorsType::kF64) + 1);

}  // namespace

std::string_view SafetensorsTypeName(SafetensorsType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

uint32_t SafetensorsTypeBytes(SafetensorsType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

std::optional<SafetensorsType> SafetensorsTypeFromName(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<SafetensorsType>(i);
  }
  return std::nullopt;
}

bool SafetensorsShapeBytes(std::span<const uint64_t> shape, SafetensorsType type, uint64_t* bytes) {
  uint64_t total = SafetensorsTypeBytes(type);
  // A zero anywhere makes the tensor empty, but must not hide an overflow of the other lengths.
  bool empty = false;
  for (uint64_t length : shape) {
    if (length == 0) {
      empty = true;
      continue;
    }
    if (!CheckedMul(total, length, &total)) return false;
  }
  *bytes = empty ? 0 : total;
  return true;
}

}  // namespace berth::io
