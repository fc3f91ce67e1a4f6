// Traces that are held in memory whole: for measurements without a file's cost, generators, tests.
#ifndef BERTH_RUNTIME_TRACE_MEMORY_TRACE_H_
#define BERTH_RUNTIME_TRACE_MEMORY_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth {

struct TraceData {
  TraceInfo info;  // rows, request_rows, shape; has_router_weights and predictions_ahead are set
                   // from what is there
  std::vector<int16_t> experts;  // [rows][layers][top_k], kNoExpert for none
  std::vector<float> weights;    // the same shape, or empty
  std::vector<int16_t> predicted_1_ahead, predicted_2_ahead;  // the same, or empty
};

// InvalidArgument where sizes contradict each other, OutOfRange for an id. Experts: at most 32,767.
Result<std::unique_ptr<TraceFile>> MakeMemoryTrace(TraceData data);
// Reads a trace file whole. ResourceExhausted above `max_bytes` of memory.
Result<std::unique_ptr<TraceFile>> LoadMemoryTrace(const std::string& path,
                                                   uint64_t max_bytes = 4ull << 30);

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_MEMORY_TRACE_H_
