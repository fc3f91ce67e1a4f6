// Which layers share a pool of slots, and what a policy of that pool is told.
#ifndef BERTH_RUNTIME_COUNT_POOL_LAYOUT_H_
#define BERTH_RUNTIME_COUNT_POOL_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "runtime/count/count.h"
#include "runtime/trace/trace.h"

namespace berth::count {

struct Pool {
  UnitIndex first_unit = 0;  // of the range from its first layer to its last
  uint32_t range_units = 0;
  uint32_t units = 0;        // of its own layers
  std::vector<double> heat;  // [range_units], 0 for layers of other pools; empty: none
};

struct PoolLayout {
  uint32_t experts = 0;
  uint32_t top_k = 0;
  std::vector<Pool> pools;
  std::vector<uint32_t> pool_of_layer;

  uint32_t units() const { return static_cast<uint32_t>(pool_of_layer.size()) * experts; }
  uint32_t pool_of(UnitIndex unit) const { return pool_of_layer[unit / experts]; }
};

// InvalidArgument for pools or a heat that do not fit the trace.
Result<PoolLayout> MakePoolLayout(const TraceInfo& trace, const CountWorkload& workload);

}  // namespace berth::count

#endif  // BERTH_RUNTIME_COUNT_POOL_LAYOUT_H_
