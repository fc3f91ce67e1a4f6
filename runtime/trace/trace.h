// Routing traces: which experts each row's routers chose, layer by layer.
//
// The native form is a safetensors file (docs/formats.md, "moe-routing-trace/1"). A TraceFile
// reads rows through a window of bounded size, so its memory does not grow with the trace.
#ifndef BERTH_RUNTIME_TRACE_TRACE_H_
#define BERTH_RUNTIME_TRACE_TRACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "io/file/byte_source.h"

namespace berth {

struct TraceInfo {
  uint32_t layers = 0;
  uint32_t experts = 0;
  uint32_t top_k = 0;
  uint64_t rows = 0;
  std::vector<uint32_t> request_rows;       // rows of each request; sums to `rows`
  std::vector<uint32_t> pass_rows;          // rows of each forward pass; empty: 1 each
  std::vector<uint32_t> layer_ids;          // block numbers; empty: 0..layers-1
  std::vector<std::string> request_labels;  // empty, or one per request
  std::vector<uint32_t> streams;            // stream of each request where the trace states it
  // Quantized bytes of a unit of each layer, where the trace states them; empty: unknown.
  std::vector<uint64_t> layer_unit_bytes;
  std::string model;
  std::string source;  // where the trace comes from, in the words of its file; may be empty
  bool has_router_weights = false;
  uint32_t predictions_ahead = 0;  // 0, 1 or 2: predicted_1_ahead, predicted_2_ahead present
};

// Not thread-safe: one reader per thread.
class TraceFile {
 public:
  // Checks shapes, types, metadata and every length against the file's size. Ids are checked as
  // they are read.
  static Result<std::unique_ptr<TraceFile>> Open(const std::string& path);
  // The same from a source that the trace then owns (tests, fuzzers).
  static Result<std::unique_ptr<TraceFile>> Parse(std::unique_ptr<io::ByteSource> source);
  virtual ~TraceFile() = default;

  const TraceInfo& info() const { return info_; }
  // Experts of row `row`, [layers][top_k], kNoExpert (-1) where the trace says none. The span
  // stays valid until the next call of the same method. An id >= experts is an OutOfRange that
  // names row, layer and id; a file that shrank is a DataLoss.
  virtual Result<std::span<const int32_t>> Experts(uint64_t row) = 0;
  // As above, [layers][top_k]; only where has_router_weights.
  virtual Result<std::span<const float>> Weights(uint64_t row) = 0;
  // What the routers of the layers `ahead` (1 or 2) further on said early, laid out as Experts:
  // entry [layer] is the prediction for that layer. Valid until the next call with the same
  // `ahead`.
  virtual Result<std::span<const int32_t>> Predicted(uint64_t row, uint32_t ahead) = 0;
  // Memory of the windows.
  virtual uint64_t window_bytes() const = 0;

 protected:
  TraceInfo info_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_TRACE_H_
