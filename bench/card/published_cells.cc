#include "bench/card/published_cells.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace berth::bench {
namespace {

constexpr std::array<uint32_t, 8> kRows = {1, 2, 4, 8, 16, 64, 512, 4096};

struct Column {
  std::string_view pair;
  std::array<double, 8> microseconds;
};
constexpr std::array<Column, 5> kColumns = {{
    {"IQ3_S+IQ4_NL", {31.3, 54.1, 86.2, 171, 476, 2078, 4719, 12233}},
    {"IQ3_XXS+IQ4_NL", {28.8, 50.3, 77.4, 146, 453, 1950, 4636, 12192}},
    {"IQ2_S+Q2_0", {33.6, 48.7, 68.3, 127, 449, 2086, 5154, 12651}},
    {"Q4_K+Q4_0", {28.1, 43.4, 57.0, 99.9, 452, 1847, 4611, 12134}},
    {"IQ4_XS+IQ4_NL", {27.7, 42.2, 63.4, 115, 374, 1715, 0, 0}},
}};

constexpr uint64_t kSmallUnit = 2'000'000;  // bytes: those of 1.5 MB against those of 2.2 and more

}  // namespace

double PublishedMicroseconds(std::string_view pair, uint32_t rows) {
  const auto at = std::find(kRows.begin(), kRows.end(), rows);
  if (at == kRows.end()) return 0;
  for (const Column& column : kColumns) {
    if (column.pair == pair) {
      return column.microseconds[static_cast<size_t>(std::distance(kRows.begin(), at))];
    }
  }
  return 0;
}

Target TargetOf(uint32_t rows, uint64_t unit_bytes) {
  Target target;
  if (rows <= 8) target.factor = 2;
  if (rows == 1) target.bandwidth = unit_bytes < kSmallUnit ? 0.25 : 0.40;
  if (rows == 16 || rows == 64) target.factor = 4;
  if (rows >= 512) target.factor = 6;
  return target;
}

}  // namespace berth::bench
