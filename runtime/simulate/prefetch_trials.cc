#include "runtime/simulate/prefetch_trials.h"

#include <memory>

#include "runtime/simulate/workload.h"

namespace berth {

Result<PrefetchChoice> ChoosePrefetchFor(const SimulateOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace,
                         TraceFile::Open(options.run.trace));
  const TraceInfo& info = trace->info();
  BERTH_ASSIGN_OR_RETURN(const SimulatedModel model, SimulatedModelOf(options, info));
  BERTH_ASSIGN_OR_RETURN(const PassSource source, PassSource::Create(info, options.run.passes));
  SimulateOptions trial = options;
  trial.run.prefetch_auto = false;
  trial.run.progress = nullptr;
  trial.run.save_learned.clear();
  trial.run.passes.max_passes = PrefetchTrialPasses(source.passes());
  const auto simulate = [&](uint64_t step_bytes) -> Result<double> {
    trial.run.prefetch.step_bytes = step_bytes;
    BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(trial, trace.get()));
    return report.wall_s;
  };
  return ChoosePrefetch(model.shape.unit_bytes,
                        MostPrefetchUnits(info.experts, info.top_k, source.max_rows()), simulate);
}

Status SettlePrefetch(const MachineProfile& profile, const StatedModel& stated, RunOptions* run) {
  SimulateOptions options;
  options.run = *run;
  options.stated = stated;
  options.profile = profile;
  BERTH_ASSIGN_OR_RETURN(const PrefetchChoice choice, ChoosePrefetchFor(options));
  run->prefetch.step_bytes = choice.step_bytes;
  run->prefetch_auto = false;
  return Status();
}

}  // namespace berth
