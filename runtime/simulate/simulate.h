// Simulate: plays a routing trace through the scheduler core on the virtual clock of a machine
// profile. Takes what a run takes and reports what a run reports, in virtual seconds.
//
// Every counter but `hits_late` (which is timing) and the digest of decisions equal those of a run
// of the same trace with the same options, where the options state all sizes: what a run reads off
// its machine (an arena left open, free memory) comes from the profile here.
#ifndef BERTH_RUNTIME_SIMULATE_SIMULATE_H_
#define BERTH_RUNTIME_SIMULATE_SIMULATE_H_

#include <cstdint>
#include <vector>

#include "berth/status.h"
#include "runtime/config/machine_profile.h"
#include "runtime/run/runner.h"
#include "runtime/trace/trace.h"

namespace berth {

// A model that is only stated. Counts of 0 and empty sizes come from the trace.
struct StatedModel {
  uint32_t layers = 0;
  uint32_t experts = 0;
  uint32_t top_k = 0;
  std::vector<uint64_t> unit_bytes;  // one for all layers, or one for each
};

struct SimulateOptions {
  // As for a run; `open` is not used. Without a model, `stated` is one. chunk 0: the naive engine
  // of naive.h, outside the core.
  RunOptions run;
  StatedModel stated;
  MachineProfile profile;
};

// The trace is options.run.trace, or `trace` where one is given.
Result<RunReport> Simulate(const SimulateOptions& options, TraceFile* trace = nullptr);

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_SIMULATE_H_
