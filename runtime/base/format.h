// Numbers as people write and read them: "24GB", "2329600", "1.97 GB", and the nearest known name
// for a word that is not known.
#ifndef BERTH_RUNTIME_BASE_FORMAT_H_
#define BERTH_RUNTIME_BASE_FORMAT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "berth/status.h"

namespace berth {

// "4096", "1.5GB" (10^9), "3GiB" (2^30), any case, an optional space before the unit.
Result<uint64_t> ParseBytes(std::string_view text);
// Decimal units, three significant digits: "1.97 GB", "704 kB", "512 B".
std::string FormatBytes(uint64_t bytes);
// 1234567 -> "1,234,567".
std::string FormatCount(uint64_t count);
// Text from a file, without what would move a terminal's cursor.
std::string Printable(std::string text);
// " (did you mean 'arena'?)" where one of the names is close, otherwise "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> names);

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_FORMAT_H_
