// Chooses the budget of `--prefetch auto` by simulating the beginning of the trace on the machine's
// profile: the same choice for a run and for a simulation.
#ifndef BERTH_RUNTIME_SIMULATE_PREFETCH_TRIALS_H_
#define BERTH_RUNTIME_SIMULATE_PREFETCH_TRIALS_H_

#include "berth/status.h"
#include "runtime/run/prefetch_choice.h"
#include "runtime/simulate/simulate.h"

namespace berth {

Result<PrefetchChoice> ChoosePrefetchFor(const SimulateOptions& options);
// The same, into the options of a run; prefetch_auto is settled then.
Status SettlePrefetch(const MachineProfile& profile, const StatedModel& stated, RunOptions* run);

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_PREFETCH_TRIALS_H_
