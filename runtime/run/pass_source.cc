#include "runtime/run/pass_source.h"

#include <algorithm>
#include <string>

namespace berth {

Result<PassSource> PassSource::Create(const TraceInfo& trace, const PassOptions& options) {
  if (options.streams == 0 || options.window == 0) {
    return InvalidArgumentError("--streams and --window must be at least 1");
  }
  if (options.window > 1 && !trace.pass_rows.empty()) {
    return InvalidArgumentError(
        "--window groups rows into passes, but the trace states pass_rows itself: leave it out");
  }
  PassSource source;
  source.options_ = options;
  uint64_t row = 0;
  size_t pass = 0;
  for (uint32_t request_rows : trace.request_rows) {
    Request request;
    request.first_piece = static_cast<uint32_t>(source.pieces_.size());
    const uint64_t end = row + request_rows;
    while (row < end) {
      uint64_t rows = options.window;
      if (!trace.pass_rows.empty()) {
        if (pass == trace.pass_rows.size() || trace.pass_rows[pass] == 0 ||
            row + trace.pass_rows[pass] > end) {
          return InvalidArgumentError(
              "pass_rows of the trace do not add up to its requests: pass " + std::to_string(pass));
        }
        rows = trace.pass_rows[pass++];
      }
      const uint64_t piece_end = std::min(end, row + rows);
      source.pieces_.push_back({row, piece_end});
      row = piece_end;
    }
    request.end_piece = static_cast<uint32_t>(source.pieces_.size());
    if (request.end_piece > request.first_piece) source.requests_.push_back(request);
  }
  source.Count();
  return source;
}

// Streams beyond the requests would stay empty for ever.
void PassSource::Rewind() {
  streams_.assign(std::min<size_t>(options_.streams, requests_.size()), Request{0, 0});
  next_request_ = 0;
  given_ = 0;
}

// Plays the passes once, to know how many there are and how wide they get.
void PassSource::Count() {
  Rewind();
  passes_ = UINT64_MAX;
  uint64_t passes = 0;
  while (!Next().empty()) {
    ++passes;
    max_rows_ = std::max(max_rows_, static_cast<uint32_t>(rows_.size()));
    if (passes == options_.max_passes) break;
  }
  rows_.reserve(max_rows_);
  Rewind();
  passes_ = passes;
}

std::span<const uint64_t> PassSource::Next() {
  rows_.clear();
  started_ = running_ = 0;
  if (given_ == passes_) return {};
  ++given_;
  for (Request& stream : streams_) {
    if (stream.first_piece == stream.end_piece) {
      if (next_request_ == requests_.size()) continue;
      stream = requests_[next_request_++];
      ++started_;
    }
    ++running_;
    const Piece& piece = pieces_[stream.first_piece++];
    for (uint64_t row = piece.first; row < piece.end; ++row) rows_.push_back(row);
  }
  return rows_;
}

}  // namespace berth
