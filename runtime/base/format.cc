#include "runtime/base/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace berth {
namespace {

struct ByteUnit {
  const char* suffix;
  double factor;
};
constexpr std::array<ByteUnit, 9> kByteUnits = {{{"", 1.0},
                                                 {"b", 1.0},
                                                 {"kb", 1e3},
                                                 {"mb", 1e6},
                                                 {"gb", 1e9},
                                                 {"tb", 1e12},
                                                 {"kib", 1024.0},
                                                 {"mib", 1048576.0},
                                                 {"gib", 1073741824.0}}};

// Edit distance with insertions, deletions and substitutions.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

Result<uint64_t> ParseBytes(std::string_view text) {
  const std::string whole(text);
  const size_t digits_end = whole.find_first_not_of("0123456789.");
  const std::string number = whole.substr(0, digits_end);
  std::string suffix = digits_end == std::string::npos ? "" : whole.substr(digits_end);
  suffix = absl::AsciiStrToLower(std::string(absl::StripAsciiWhitespace(suffix)));
  double value = 0;
  if (suffix.empty() && number.find('.') != std::string::npos) {
    return InvalidArgumentError("'" + whole + "' is a part of a byte: write 4096, 500MB or 1.5GB");
  }
  if (!number.empty() && absl::SimpleAtod(number, &value) && value >= 0) {
    for (const ByteUnit& unit : kByteUnits) {
      if (suffix != unit.suffix) continue;
      const double bytes = value * unit.factor;
      if (bytes >= 9.0e18)
        return InvalidArgumentError("'" + whole + "' is more than any machine has");
      return static_cast<uint64_t>(std::llround(bytes));
    }
  }
  return InvalidArgumentError("'" + whole + "' is not a size: write 4096, 500MB, 1.5GB or 3GiB");
}

std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

std::string FormatBytes(uint64_t bytes) {
  static constexpr std::array<const char*, 5> kNames = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  const int decimals = unit == 0 || value >= 99.95 ? 0 : (value >= 9.995 ? 1 : 2);
  std::snprintf(text, sizeof(text), "%.*f %s", decimals, value, kNames[unit]);
  return text;
}

std::string FormatCount(uint64_t count) {
  std::string text = std::to_string(count);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (std::string_view name : names) {
    const size_t distance = Distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  if (best.empty()) return "";
  return " (did you mean '" + std::string(best) + "'?)";
}

}  // namespace berth
