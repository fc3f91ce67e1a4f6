// How often each unit is routed to: the heat for warm starts and for the static policy.
#ifndef BERTH_RUNTIME_TRACE_PROFILE_H_
#define BERTH_RUNTIME_TRACE_PROFILE_H_

#include <cstdint>
#include <functional>
#include <span>

#include "berth/status.h"
#include "runtime/trace/heat_file.h"
#include "runtime/trace/trace.h"

namespace berth {

// Counts of the routed entries of these requests. OutOfRange for a request that is not there.
Result<UnitHeat> CountHeat(TraceFile* trace, std::span<const uint32_t> requests,
                           const std::function<void(uint64_t done, uint64_t rows)>& progress = {});

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_PROFILE_H_
