#include "runtime/simulate/auto_prefetch.h"

#include <memory>

#include "runtime/simulate/workload.h"

namespace berth {

Result<PrefetchChoice> ChoosePrefetchOn(const SimulateOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace,
                         TraceFile::Open(options.run.trace));
  const TraceInfo& info = trace->info();
  BERTH_ASSIGN_OR_RETURN(const PassSource source, PassSource::Create(info, options.run.passes));
  BERTH_ASSIGN_OR_RETURN(const SimulatedModel model, SimulatedModelOf(options, info));
  SimulateOptions trial = options;
  trial.run.prefetch_auto = false;
  trial.run.progress = nullptr;
  trial.run.save_learned.clear();
  trial.run.passes.max_passes = PrefetchTrialPasses(source.passes());
  return ChoosePrefetch(
      model.shape.unit_bytes, MostPrefetchUnits(info.experts, info.top_k, source.max_rows()),
      [&](uint64_t step_bytes) -> Result<double> {
        trial.run.prefetch.step_bytes = step_bytes;
        BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(trial, trace.get()));
        return report.wall_s;
      });
}

Status SettlePrefetch(SimulateOptions* options) {
  if (!options->run.prefetch_auto) return Status();
  BERTH_ASSIGN_OR_RETURN(const PrefetchChoice choice, ChoosePrefetchOn(*options));
  options->run.prefetch.step_bytes = choice.step_bytes;
  options->run.prefetch_auto = false;
  return Status();
}

}  // namespace berth
