// --prefetch auto, for runs and simulations alike: the budget that the simulator finds best on the
// beginning of the trace.
#ifndef BERTH_RUNTIME_SIMULATE_AUTO_PREFETCH_H_
#define BERTH_RUNTIME_SIMULATE_AUTO_PREFETCH_H_

#include "berth/status.h"
#include "runtime/run/prefetch_choice.h"
#include "runtime/simulate/simulate.h"

namespace berth {

// Simulates options.run with each candidate budget on PrefetchTrialPasses of its passes.
// InvalidArgument for a trace without predictions, and whatever Simulate refuses.
Result<PrefetchChoice> ChoosePrefetchOn(const SimulateOptions& options);

// Where options->run asks for it: chooses, and puts the budget into run.prefetch.
Status SettlePrefetch(SimulateOptions* options);

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_AUTO_PREFETCH_H_
