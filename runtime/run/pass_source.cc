#include "runtime/run/pass_source.h"

#include <algorithm>
#include <string>
#include <utility>

namespace berth {

Result<PassSource> PassSource::Create(const TraceInfo& trace, const PassOptions& options) {
  if (options.streams == 0 || options.window == 0) {
    return InvalidArgumentError("--streams and --window must be at least 1");
  }
  if (options.prompt_chunk > 0 && options.prompt_rows == 0 && trace.pass_rows.empty()) {
    return InvalidArgumentError(
        "--prompt-chunk: the trace does not say how long its prompts are: give --prompt-rows");
  }
  PassSource source;
  source.options_ = options;
  source.pass_rows_ = trace.pass_rows;
  BERTH_RETURN_IF_ERROR(source.AddRequests(trace));
  BERTH_RETURN_IF_ERROR(source.Choose());
  source.Count();
  return source;
}

Status PassSource::AddRequests(const TraceInfo& trace) {
  uint64_t row = 0;
  size_t pass = 0;
  for (const uint32_t request_rows : trace.request_rows) {
    Request request{row, row + request_rows, row, pass};
    bool prompt = true;
    while (!pass_rows_.empty() && row < request.end_row) {
      if (pass == pass_rows_.size() || pass_rows_[pass] == 0 ||
          pass_rows_[pass] > request.end_row - row) {
        return InvalidArgumentError("pass_rows of the trace do not add up to its requests: pass " +
                                    std::to_string(pass));
      }
      prompt = prompt && pass_rows_[pass] > 1;
      row += pass_rows_[pass++];
      if (prompt && options_.prompt_chunk > 0) request.prompt_end = row;
    }
    row = request.end_row;
    if (options_.prompt_rows > 0) {
      request.prompt_end = std::min(row, request.first_row + options_.prompt_rows);
    }
    requests_.push_back(request);
  }
  return Status();
}

// Those asked for, in that order, without empty ones: a stream would have no rows for a pass.
Status PassSource::Choose() {
  if (!options_.requests.empty()) {
    std::vector<Request> chosen;
    for (const uint32_t number : options_.requests) {
      if (number >= requests_.size()) {
        return OutOfRangeError("--requests: request " + std::to_string(number) +
                               ": the trace has " + std::to_string(requests_.size()) +
                               ", counted from 0");
      }
      chosen.push_back(requests_[number]);
    }
    requests_ = std::move(chosen);
  }
  std::erase_if(requests_, [](const Request& r) { return r.first_row == r.end_row; });
  return Status();
}

// Streams beyond the requests would stay empty for ever.
void PassSource::Rewind() {
  streams_.assign(std::min<size_t>(options_.streams, requests_.size()), Stream());
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
  for (Stream& stream : streams_) {
    if (stream.row == stream.end_row) {
      if (next_request_ == requests_.size()) continue;
      const Request& request = requests_[next_request_++];
      stream = {request.first_row, request.end_row, request.prompt_end, request.first_pass,
                request.first_row};
      ++started_;
    }
    ++running_;
    for (const uint64_t end = PieceEnd(&stream); stream.row < end; ++stream.row) {
      rows_.push_back(stream.row);
    }
  }
  return rows_;
}

// The end of the piece that begins at the stream's row.
uint64_t PassSource::PieceEnd(Stream* stream) const {
  if (stream->row < stream->prompt_end) {
    const uint64_t left = stream->prompt_end - stream->row;
    return stream->row +
           (options_.prompt_chunk == 0 ? left : std::min<uint64_t>(left, options_.prompt_chunk));
  }
  const uint64_t window_end = std::min<uint64_t>(stream->end_row, stream->row + options_.window);
  if (pass_rows_.empty()) return window_end;
  while (stream->pass_end <= stream->row) stream->pass_end += pass_rows_[stream->pass++];
  if (stream->pass_end - stream->row > 1) return stream->pass_end;
  while (stream->pass_end < window_end && pass_rows_[stream->pass] == 1) {
    ++stream->pass_end;
    ++stream->pass;
  }
  return stream->pass_end;
}

}  // namespace berth
