// PassSource: the forward passes that a trace's requests make, one after the other.
//
// `streams` requests run side by side; each pass takes the next piece of every one of them: a chunk
// of its prompt, then its next `window` rows. A stream whose request has ended takes the next
// request of the list.
//
//   request   [prompt chunk][prompt chunk][window][window][pass of the trace][window] ...
//
// A trace that states its passes keeps them where they are wider than one row; rows that it gives
// one by one go `window` at a time.
#ifndef BERTH_RUNTIME_RUN_PASS_SOURCE_H_
#define BERTH_RUNTIME_RUN_PASS_SOURCE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth {

struct PassOptions {
  uint32_t streams = 1;
  uint32_t window = 1;      // rows of a request in one pass, after its prompt
  uint64_t max_passes = 0;  // 0: all
  // First rows of each request, taken as its prompt; 0: what the trace says, the passes of more
  // than one row that a request begins with.
  uint32_t prompt_rows = 0;
  // Rows of a prompt in one pass; 0: `prompt_rows` in one, or as the trace has them.
  uint32_t prompt_chunk = 0;
  // Requests to play, in this order; empty: all, in the file's order.
  std::vector<uint32_t> requests;
};

class PassSource {
 public:
  // Keeps the trace's passes and requests, not its rows: memory does not grow with the rows.
  // InvalidArgument for a chunk of prompts that nobody states, or passes that do not add up;
  // OutOfRange for a request that the trace does not have.
  static Result<PassSource> Create(const TraceInfo& trace, const PassOptions& options);

  // Rows (of the trace) of the next pass; empty when there is none. Valid until the next call.
  std::span<const uint64_t> Next();

  // Of the last pass: streams that began a request with it, and streams that took part.
  uint32_t started() const { return started_; }
  uint32_t running() const { return running_; }

  uint64_t passes() const { return passes_; }  // that Next will give in all
  uint32_t max_rows() const { return max_rows_; }

 private:
  struct Request {
    uint64_t first_row, end_row;
    uint64_t prompt_end;
    size_t first_pass;  // into pass_rows_
  };
  struct Stream {
    uint64_t row = 0, end_row = 0;
    uint64_t prompt_end = 0;
    size_t pass = 0;        // the first pass that lies behind pass_end
    uint64_t pass_end = 0;  // of the trace's pass that `row` is in, or behind which it is
  };
  PassSource() = default;
  Status AddRequests(const TraceInfo& trace);
  Status Choose();
  void Count();
  void Rewind();
  uint64_t PieceEnd(Stream* stream) const;

  PassOptions options_;
  std::vector<uint32_t> pass_rows_;  // of the trace; empty: 1 each
  std::vector<Request> requests_;    // that are played and not empty
  std::vector<Stream> streams_;
  size_t next_request_ = 0;
  uint64_t passes_ = 0;
  uint64_t given_ = 0;
  uint32_t max_rows_ = 0;
  uint32_t started_ = 0;
  uint32_t running_ = 0;
  std::vector<uint64_t> rows_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_PASS_SOURCE_H_
