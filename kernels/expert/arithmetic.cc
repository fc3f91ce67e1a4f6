#include "kernels/expert/arithmetic.h"

#include <array>

#include "runtime/base/format.h"

namespace berth::kernels {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"exact", "f32"};

}  // namespace

std::string_view ArithmeticModeName(ArithmeticMode mode) {
  return kNames[static_cast<size_t>(mode)];
}

Result<ArithmeticMode> ParseArithmeticMode(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ArithmeticMode>(i);
  }
  return InvalidArgumentError("no arithmetic is called '" + std::string(name) + "'" +
                              DidYouMean(name, kNames));
}

std::string ArithmeticName(const Arithmetic& arithmetic) {
  std::string name(ArithmeticModeName(arithmetic.mode));
  if (arithmetic.mode == ArithmeticMode::kF32) return name;
  return name + "-" + std::to_string(kExactVersion) + ":" + std::to_string(arithmetic.exact_rows);
}

}  // namespace berth::kernels
