// Runner: replays a routing trace on a model through a Runtime, a thin client of its public
// headers, and reports what happened.
#ifndef BERTH_RUNTIME_RUN_RUNNER_H_
#define BERTH_RUNTIME_RUN_RUNNER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/runtime.h"
#include "berth/status.h"
#include "runtime/run/pass_source.h"
#include "runtime/run/replay.h"

namespace berth {

struct RunOptions {
  RuntimeOptions runtime;  // max_rows and max_in_flight are set by the run
  std::string trace;
  PassOptions passes;
  PrefetchOptions prefetch;
  // prefetch.step_bytes is what ChoosePrefetch says; to be settled before RunTrace.
  bool prefetch_auto = false;
  std::string warm;          // a heat file to begin with; empty: none
  std::string save_learned;  // where the caller writes RunReport::learned; empty: nowhere
  // How the runtime is opened; tests put another storage in.
  std::function<Result<std::unique_ptr<Runtime>>(const RuntimeOptions&)> open = Runtime::Open;
  // Called after every pass with passes done and all.
  std::function<void(uint64_t done, uint64_t passes)> progress;
};

struct RunReport {
  ModelShape shape;
  RuntimeInfo info;
  Stats stats;
  double open_s = 0;
  double wall_s = 0;     // of the replay
  double inputs_s = 0;   // making inputs and hashing outputs, nothing else under way
  std::string bound_by;  // "storage", "link", "device" or "host"
  std::string policy;    // of the arenas, as it was asked for
  PrefetchOptions prefetch;
  // Absent where a step failed or nothing was computed.
  std::optional<uint64_t> output_hash;
  bool verified = false;  // every unit read was proved against a checksum
  uint64_t failed_steps = 0;
  Status first_failure;
  std::vector<double> learned;   // as RuntimeOptions::heat takes it, where it is to be saved
  uint64_t rss_bytes = 0;        // resident size at its peak
  uint64_t rss_bound_bytes = 0;  // what it may be: all that was planned, and 64 MiB
  uint64_t trace_window_bytes = 0;
  uint64_t input_bytes = 0;  // of the replay: inputs, routing and outputs of one pass
  uint64_t tokens = 0;       // rows of all passes
  bool simulated = false;    // seconds are virtual
  double host_s = 0;         // simulated: work was sent out, nothing computed, moved or was read
};

// InvalidArgument where the trace is not of a model of this shape. A trace belongs to a model when
// every id in it means something there.
Status CheckTraceMatches(const TraceInfo& trace, const ModelShape& shape, const std::string& path);
// "storage", "link", "device" or "host": where most of the time went.
std::string BoundBy(const TimeSplit& time);

// An error means that the run did not take place or broke off; failed steps are in the report.
Result<RunReport> RunTrace(const RunOptions& options);

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_RUNNER_H_
