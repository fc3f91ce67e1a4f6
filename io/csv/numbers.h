// Numbers of a CSV field: the whole field must be the number.
#ifndef BERTH_IO_CSV_NUMBERS_H_
#define BERTH_IO_CSV_NUMBERS_H_

#include <charconv>
#include <string_view>

namespace berth::io {

// False for an empty field, anything left over, or a value that does not fit.
template <typename T>
bool ParseNumber(std::string_view field, T* value) {
  const char* end = field.data() + field.size();
  const std::from_chars_result result = std::from_chars(field.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace berth::io

#endif  // BERTH_IO_CSV_NUMBERS_H_
