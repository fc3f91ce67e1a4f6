#include "kernels/formats/format.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/formats/format_list.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::kernels {
namespace {

constexpr size_t kCount = 27;

// Made on first use, since the constants live in other files and their order of initialization is
// not ours to rely on.
const std::array<Format, kCount>& Table() {
  static const std::array<Format, kCount> table = {
      kFormatF16,    kFormatQ4_0,    kFormatQ4_1,  kFormatQ5_0,   kFormatQ5_1,  kFormatQ8_0,
      kFormatQ2_K,   kFormatQ3_K,    kFormatQ4_K,  kFormatQ5_K,   kFormatQ6_K,  kFormatIq2_Xxs,
      kFormatIq2_Xs, kFormatIq3_Xxs, kFormatIq1_S, kFormatIq4_Nl, kFormatIq3_S, kFormatIq2_S,
      kFormatIq4_Xs, kFormatIq1_M,   kFormatBf16,  kFormatTq1_0,  kFormatTq2_0, kFormatMxfp4,
      kFormatNvfp4,  kFormatQ1_0,    kFormatQ2_0};
  return table;
}

absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::span<const Format> Formats() { return Table(); }

const Format* FindFormat(TensorType type) {
  for (const Format& format : Table()) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

Result<const Format*> FindFormat(std::string_view name) {
  std::array<std::string_view, kCount> names;
  for (size_t i = 0; i < kCount; ++i) {
    const Format& format = Table()[i];
    if (absl::EqualsIgnoreCase(AbslView(name), AbslView(format.name))) return &format;
    names[i] = format.name;
  }
  const std::string lower = absl::AsciiStrToLower(AbslView(name));
  return InvalidArgumentError(
      absl::StrCat("tensor type '", AbslView(name), "' is not known", DidYouMean(lower, names)));
}

Result<uint64_t> RowBytes(const Format& format, uint64_t cols) {
  uint64_t bytes = 0;
  if (cols % format.block_elements != 0) {
    return InvalidArgumentError(absl::StrCat("a row of ", cols, " weights is no whole number of ",
                                             AbslView(format.name), " blocks of ",
                                             format.block_elements));
  }
  if (!CheckedMul(cols / format.block_elements, format.block_bytes, &bytes)) {
    return InvalidArgumentError(absl::StrCat("a row of ", cols, " weights is too long"));
  }
  return bytes;
}

}  // namespace berth::kernels
