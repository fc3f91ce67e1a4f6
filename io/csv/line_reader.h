// Lines of a text source through a small window, with their numbers, split at commas.
#ifndef BERTH_IO_CSV_LINE_READER_H_
#define BERTH_IO_CSV_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/file/byte_source.h"

namespace berth::io {

// What spreadsheets put before the first line of a UTF-8 text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// One reader, one thread.
class LineReader {
 public:
  // No line of these formats comes near this; a longer one is an error, so memory stays bounded.
  static constexpr size_t kMaxLineBytes = 64 << 10;

  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // False at the end. Lines end in \n or \r\n; the last one may lack it. The text is valid until
  // the next call. A zero byte is refused: it is no text file then. A byte order mark is no part
  // of the first line.
  Result<bool> Next(std::string_view* line);
  // Number of the line that Next gave last, from 1.
  uint64_t line() const { return line_; }
  // InvalidArgument: "<name>:<line>: <what>".
  Status Error(std::string_view what) const;

 private:
  Status Fill();

  const std::unique_ptr<ByteSource> source_;
  std::string window_;
  size_t at_ = 0;        // of the next line, in window_
  uint64_t offset_ = 0;  // of the end of window_, in the source
  uint64_t line_ = 0;
};

// Splits at commas into exactly fields.size() pieces; false where the count differs. There is no
// quoting: these formats hold numbers and single words.
bool SplitFields(std::string_view line, std::span<std::string_view> fields);

}  // namespace berth::io

#endif  // BERTH_IO_CSV_LINE_READER_H_
