// What both engines of the simulator, the core's and the naive one, make of their options.
#ifndef BERTH_RUNTIME_SIMULATE_WORKLOAD_H_
#define BERTH_RUNTIME_SIMULATE_WORKLOAD_H_

#include "berth/runtime.h"
#include "berth/status.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/model_sizes.h"
#include "runtime/simulate/cost_model.h"
#include "runtime/simulate/simulate.h"

namespace berth {

struct SimulatedModel {
  ModelShape shape;
  ModelSizes sizes;
};
// From the model's file, or from what is stated; checked against the trace.
Result<SimulatedModel> SimulatedModelOf(const SimulateOptions& options, const TraceInfo& trace);

// The chunk-0 engine on the same machine; fills in counters, time and notes of the report.
// InvalidArgument for options that it has not.
Status SimulateNaive(const SimulateOptions& options, const MemoryPlan& plan,
                     const MachineCosts& costs, const SimulatedModel& model, TraceFile* trace,
                     PassSource* source, RunReport* report);

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_WORKLOAD_H_
