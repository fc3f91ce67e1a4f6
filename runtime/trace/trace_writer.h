// TraceWriter: writes a trace file row by row, whole or not at all, in memory that does not grow.
#ifndef BERTH_RUNTIME_TRACE_TRACE_WRITER_H_
#define BERTH_RUNTIME_TRACE_TRACE_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth {

// One row as it goes into the file; spans of [layers][top_k], empty where the column is absent.
struct TraceRow {
  std::span<const int32_t> experts;
  std::span<const float> weights;
  std::span<const int32_t> predicted_1_ahead, predicted_2_ahead;
};

class TraceWriter {
 public:
  // `info` states the whole: rows, request_rows, pass_rows, labels, columns that will come
  // (has_router_weights, predictions_ahead). FailedPrecondition if `path` exists, unless `replace`.
  static Result<std::unique_ptr<TraceWriter>> Create(const std::string& path, const TraceInfo& info,
                                                     bool replace = false);
  virtual ~TraceWriter() = default;  // without Commit: nothing is left
  // OutOfRange for an id that is neither kNoExpert nor an expert's.
  virtual Status Append(const TraceRow& row) = 0;
  // FailedPrecondition unless exactly info.rows rows came.
  virtual Status Commit() = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_TRACE_WRITER_H_
