// PassSource: the forward passes that a trace's requests make, one after the other.
//
// `streams` requests run side by side; each pass takes the next piece of every one of them: its
// next `window` rows, or the rows its trace gives to a pass. A stream whose request has ended takes
// the next request of the file.
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
  uint32_t window = 1;
  uint64_t max_passes = 0;    // 0: all
  uint32_t prompt_rows = 0;   // of each request; 0: what the trace says
  uint32_t prompt_chunk = 0;  // rows of a prompt in one pass; 0: as the trace has them
  // Requests to play, in this order; empty: all, in the file's order.
  std::vector<uint32_t> requests;
};

class PassSource {
 public:
  static Result<PassSource> Create(const TraceInfo& trace, const PassOptions& options);

  // Rows (of the trace) of the next pass; empty when there is none. Valid until the next call.
  std::span<const uint64_t> Next();

  // Of the last pass: streams that began a request with it, and streams that took part.
  uint32_t started() const { return started_; }
  uint32_t running() const { return running_; }

  uint64_t passes() const { return passes_; }  // that Next will give in all
  uint32_t max_rows() const { return max_rows_; }

 private:
  struct Piece {  // of a request: rows [first, end) in the trace
    uint64_t first, end;
  };
  struct Request {
    uint32_t first_piece, end_piece;
  };
  PassSource() = default;
  void Count();
  void Rewind();

  PassOptions options_;
  std::vector<Piece> pieces_;
  std::vector<Request> requests_;
  std::vector<Request> streams_;  // what is left of each stream's request
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
