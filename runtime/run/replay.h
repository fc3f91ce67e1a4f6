// Replay: the steps and hints that a trace makes, in the order in which they are submitted. The
// same for a machine and for the simulator, so that both decide the same.
//
//   per pass, per layer:   Step(layer)            the demand goes first
//                          Hint(later layer)      what early routers said, within a budget
//                          EndStep(layer)         the step's result is there
#ifndef BERTH_RUNTIME_RUN_REPLAY_H_
#define BERTH_RUNTIME_RUN_REPLAY_H_

#include <cstdint>
#include <functional>
#include <span>

#include "berth/status.h"
#include "runtime/run/pass_source.h"
#include "runtime/trace/trace.h"

namespace berth {

struct PrefetchOptions {
  // Payload bytes that the hints of one step may ask for, whether or not they turn out to be
  // resident already; 0: no hints. Needs predictions in the trace.
  uint64_t step_bytes = 0;
  uint32_t ahead = 1;  // layers, 1 or 2
};

struct ReplayStep {
  uint32_t layer = 0;
  uint64_t pass = 0;
  std::span<const uint64_t> rows;  // of the trace
  std::span<const int32_t> ids;    // [rows][top_k]
  std::span<const float> weights;  // [rows][top_k]; empty where the trace has none
};

class ReplayTarget {
 public:
  // Enqueues the step; spans are valid until its EndStep returns.
  virtual Status Step(const ReplayStep& step) = 0;
  // Distinct units of one layer, most wanted first.
  virtual Status Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) = 0;
  virtual Status EndStep(const ReplayStep& step) = 0;

 protected:
  ~ReplayTarget() = default;
};

struct ReplayOptions {
  PrefetchOptions prefetch;
  std::span<const uint64_t> layer_unit_bytes;  // what a hinted unit costs of the budget
  // Called after every pass with passes done and all.
  std::function<void(uint64_t done, uint64_t passes)> progress;
};

// Plays every pass of `source`. The first error of the target ends it. InvalidArgument for a
// prefetch that the trace has no predictions for.
Status Replay(TraceFile* trace, PassSource* source, const ReplayOptions& options,
              ReplayTarget* target);
// Memory that Replay takes for the routing of one pass.
uint64_t ReplayBytes(const TraceInfo& info, uint32_t max_rows, const PrefetchOptions& prefetch);

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_REPLAY_H_
