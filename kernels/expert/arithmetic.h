// Which arithmetic a unit's results are made with (docs/arithmetic.md).
#ifndef BERTH_KERNELS_EXPERT_ARITHMETIC_H_
#define BERTH_KERNELS_EXPERT_ARITHMETIC_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/status.h"

namespace berth::kernels {

enum class ArithmeticMode : uint8_t {
  kExact,  // up to exact_rows rows of a unit exact, more of them wide
  kF32,    // weights and activations in F32: the reference for accuracy
};

// The version of the exact arithmetic: it changes when bits do.
inline constexpr uint32_t kExactVersion = 1;
inline constexpr uint32_t kMostExactRows = 64;

struct Arithmetic {
  ArithmeticMode mode = ArithmeticMode::kExact;
  // Of a unit in one step; 0: all wide. At most kMostExactRows.
  uint32_t exact_rows = 8;

  bool IsExact(uint32_t rows) const { return mode == ArithmeticMode::kExact && rows <= exact_rows; }
};

std::string_view ArithmeticModeName(ArithmeticMode mode);  // "exact", "f32"
Result<ArithmeticMode> ParseArithmeticMode(std::string_view name);
// What an output hash stands for: "exact-1:8", "f32".
std::string ArithmeticName(const Arithmetic& arithmetic);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_ARITHMETIC_H_
