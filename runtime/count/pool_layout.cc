#include "runtime/count/pool_layout.h"

#include <algorithm>
#include <string>

#include "runtime/count/next_use_file.h"

namespace berth::count {
namespace {

Status CheckShape(const TraceInfo& trace, const CountWorkload& workload) {
  const uint64_t units = uint64_t{trace.layers} * trace.experts;
  if (units == 0 || units > NextUseFile::kMostUnits) {
    return InvalidArgumentError("counting serves 1 to " + std::to_string(NextUseFile::kMostUnits) +
                                " units, the trace has " + std::to_string(trace.layers) +
                                " layers of " + std::to_string(trace.experts) + " experts");
  }
  if (!workload.heat.empty() && workload.heat.size() != units) {
    return InvalidArgumentError("the heat has " + std::to_string(workload.heat.size()) +
                                " figures for a trace of " + std::to_string(units) +
                                " units: one per unit is needed");
  }
  if (!workload.pool_of_layer.empty() && workload.pool_of_layer.size() != trace.layers) {
    return InvalidArgumentError("pools are given to " +
                                std::to_string(workload.pool_of_layer.size()) +
                                " layers, the trace has " + std::to_string(trace.layers));
  }
  for (uint32_t pool : workload.pool_of_layer) {
    if (pool < trace.layers) continue;
    return InvalidArgumentError("there is no pool " + std::to_string(pool) + ": " +
                                std::to_string(trace.layers) +
                                " layers have pools from 0 on, each with a layer of its own");
  }
  return Status();
}

}  // namespace

Result<PoolLayout> MakePoolLayout(const TraceInfo& trace, const CountWorkload& workload) {
  BERTH_RETURN_IF_ERROR(CheckShape(trace, workload));
  PoolLayout layout;
  layout.experts = trace.experts;
  layout.top_k = trace.top_k;
  layout.pool_of_layer = workload.pool_of_layer;
  layout.pool_of_layer.resize(trace.layers, 0);
  const uint32_t last = *std::max_element(layout.pool_of_layer.begin(), layout.pool_of_layer.end());
  layout.pools.resize(last + 1);

  for (uint32_t layer = 0; layer < trace.layers; ++layer) {
    Pool& pool = layout.pools[layout.pool_of_layer[layer]];
    const UnitIndex first = layer * trace.experts;
    if (pool.units == 0) pool.first_unit = first;
    pool.units += trace.experts;
    pool.range_units = first + trace.experts - pool.first_unit;
    if (workload.heat.empty()) continue;
    pool.heat.resize(pool.range_units, 0);
    std::copy_n(workload.heat.begin() + first, trace.experts,
                pool.heat.begin() + (first - pool.first_unit));
  }
  for (size_t pool = 0; pool < layout.pools.size(); ++pool) {
    if (layout.pools[pool].units > 0) continue;
    return InvalidArgumentError("pool " + std::to_string(pool) +
                                " has no layer: number the pools from 0 without a gap");
  }
  return layout;
}

}  // namespace berth::count
