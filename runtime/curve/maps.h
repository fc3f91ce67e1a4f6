// Residency maps of a curve's most telling policies and sizes.
#ifndef BERTH_RUNTIME_CURVE_MAPS_H_
#define BERTH_RUNTIME_CURVE_MAPS_H_

#include <span>

#include "berth/status.h"
#include "runtime/count/count.h"
#include "runtime/curve/curve.h"
#include "runtime/trace/trace.h"

namespace berth::curve {

// Counts once more, with residency: LRU, the best online policy and the bound at the sizes nearest
// to 25, 50 and 75 %. `requests` are those of the report, policy by policy, size by size.
Status CountMaps(TraceFile* trace, const CountWorkload& workload,
                 std::span<const CountRequest> requests, CountOptions counting,
                 CurveReport* report);

}  // namespace berth::curve

#endif  // BERTH_RUNTIME_CURVE_MAPS_H_
