#include "runtime/tools/text_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace berth::tools {
namespace {

constexpr size_t kColumns = 72;
constexpr size_t kRows = 11;

// The cell of `value` among `cells` that reach from 0 to `most`.
size_t CellOf(double value, double most, size_t cells) {
  const double share = std::clamp(value / most, 0.0, 1.0);
  return static_cast<size_t>(std::lround(share * static_cast<double>(cells - 1)));
}

}  // namespace

std::string TextPlot::ToString() const {
  std::vector<std::string> rows(kRows, std::string(kColumns, ' '));
  for (const TextSeries& line : series) {
    for (const auto& [x, y] : line.points) {
      rows[kRows - 1 - CellOf(y, y_max, kRows)][CellOf(x, x_max, kColumns)] = line.mark;
    }
  }
  std::string text = y_title + "\n";
  for (size_t row = 0; row < kRows; ++row) {
    const double value = y_max * static_cast<double>(kRows - 1 - row) / (kRows - 1);
    const bool labelled = row % 5 == 0;
    text += (labelled ? absl::StrFormat("%5.0f |", value) : "      |") + rows[row];
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  const std::string end = absl::StrFormat("%.0f", x_max);
  text += "      +" + std::string(kColumns, '-') + "\n       0";
  const size_t middle = (kColumns - x_title.size()) / 2;
  text += std::string(middle - 1, ' ') + x_title;
  return text + std::string(kColumns - middle - x_title.size() - end.size(), ' ') + end + "\n";
}

}  // namespace berth::tools
