#include "io/csv/line_reader.h"

#include <algorithm>

namespace berth::io {

Status LineReader::Error(std::string_view what) const {
  return InvalidArgumentError(source_->name() + ":" + std::to_string(line_) + ": " +
                              std::string(what));
}

// Drops what was read and appends the next piece of the source.
Status LineReader::Fill() {
  window_.erase(0, at_);
  at_ = 0;
  const uint64_t take = std::min<uint64_t>(kMaxLineBytes, source_->bytes() - offset_);
  const size_t held = window_.size();
  window_.resize(held + take);
  BERTH_RETURN_IF_ERROR(
      source_->ReadAt(offset_, std::as_writable_bytes(std::span<char>(window_).subspan(held))));
  offset_ += take;
  return Status();
}

Result<bool> LineReader::Next(std::string_view* line) {
  size_t end = window_.find('\n', at_);
  while (end == std::string::npos && offset_ < source_->bytes() &&
         window_.size() - at_ <= kMaxLineBytes) {
    const size_t searched = window_.size() - at_;
    BERTH_RETURN_IF_ERROR(Fill());
    end = window_.find('\n', at_ + searched);
  }
  if (at_ == window_.size()) return false;
  ++line_;
  const size_t stop = end == std::string::npos ? window_.size() : end;
  if (stop - at_ > kMaxLineBytes) {
    return Error("a line of more than " + std::to_string(kMaxLineBytes) + " bytes");
  }
  *line = std::string_view(window_).substr(at_, stop - at_);
  at_ = end == std::string::npos ? stop : stop + 1;
  if (line->ends_with('\r')) line->remove_suffix(1);
  if (line_ == 1 && line->starts_with(kByteOrderMark)) line->remove_prefix(kByteOrderMark.size());
  if (line->find('\0') != std::string_view::npos) return Error("a zero byte: not a text file");
  return true;
}

bool SplitFields(std::string_view line, std::span<std::string_view> fields) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == fields.size())) return false;
    fields[i] = line.substr(0, comma);
    line = comma == std::string_view::npos ? std::string_view() : line.substr(comma + 1);
  }
  return true;
}

}  // namespace berth::io
