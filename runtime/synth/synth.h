// Synthetic routing traces with the locality of real ones: requests have tastes of their own.
// The same options give the same trace on every machine.
#ifndef BERTH_RUNTIME_SYNTH_SYNTH_H_
#define BERTH_RUNTIME_SYNTH_SYNTH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/synth/layer_router.h"
#include "runtime/synth/options.h"
#include "runtime/trace/trace.h"
#include "runtime/trace/trace_writer.h"

namespace berth {

// Makes a trace row by row, in memory that does not grow with it. Not thread-safe.
class SynthTrace {
 public:
  // InvalidArgument as CheckSynthOptions has it.
  static Result<std::unique_ptr<SynthTrace>> Create(const SynthOptions& options);
  SynthTrace(const SynthTrace&) = delete;  // routers point at options_
  SynthTrace& operator=(const SynthTrace&) = delete;

  const TraceInfo& info() const { return info_; }
  // The next of info().rows rows; spans are valid until the next call.
  TraceRow Next();

 private:
  explicit SynthTrace(const SynthOptions& options);
  void PlanRequests();
  void BeginRequest();

  const SynthOptions options_;
  TraceInfo info_;
  std::vector<synth::LayerRouter> layers_;
  uint32_t request_ = 0;    // that begins next
  uint32_t rows_left_ = 0;  // of the one under way
  std::vector<int32_t> experts_, predicted_1_ahead_, predicted_2_ahead_;
};

// The whole trace in memory (2 bytes an id). ResourceExhausted above `max_bytes`.
Result<std::unique_ptr<TraceFile>> MakeSynthTrace(const SynthOptions& options,
                                                  uint64_t max_bytes = uint64_t{4} << 30);

}  // namespace berth

#endif  // BERTH_RUNTIME_SYNTH_SYNTH_H_
