// Counting: how often a policy misses, without time, transfers or waves. The fast half of the
// simulator: many policies and sizes from one reading of the trace.
//
// Step by step (the default) a pool sees what the scheduler core's arena would show it: a step's
// distinct units in order of first appearance are touched, then the missing ones come in, and none
// of the step's own units is a victim. So the counts equal the counters of a run whose arena has
// the same pools. Access by access every unit of every row is a step of its own, as cache
// simulators have it.
//
// Memory does not grow with the trace. For policies that need the future the trace is read once
// more before, and a file of next uses is kept in the temporary folder (8 bytes per unit and step),
// which has no name there and so is gone however the process ends.
#ifndef BERTH_RUNTIME_COUNT_COUNT_H_
#define BERTH_RUNTIME_COUNT_COUNT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/run/pass_source.h"
#include "runtime/trace/trace.h"

namespace berth {

enum class Granularity : uint8_t { kStep, kAccess };
// Whether what is resident and learned stays between requests. Reset where all running streams
// begin a request at once (with one stream: at every request).
enum class Between : uint8_t { kCarried, kReset };

struct CountWorkload {
  PassOptions passes;
  Granularity granularity = Granularity::kStep;
  Between between = Between::kCarried;
  // Layers with the same number share a pool of slots; empty: all share one.
  std::vector<uint32_t> pool_of_layer;
  std::vector<double> heat;  // [layers x experts], for warm policies; empty: none
  // Passes before counting begins (they are played, but not counted).
  uint64_t warmup_passes = 0;
  std::string temporary_folder;  // for next uses; empty: where std::filesystem says
};

struct CountRequest {
  std::string policy = "lru";        // as MakePolicy has it
  std::vector<uint32_t> pool_slots;  // of each pool
  bool always_admit = false;         // whatever Policy::Admit answers
  // The pools start filled with the hottest units of `heat`, the hottest as the one used last.
  bool preload = false;
  uint64_t seed = 1;
};

struct CountResult {
  uint64_t lookups = 0;  // distinct units of steps
  uint64_t misses = 0;
  uint64_t inserted = 0;                              // of the misses, those that got a slot
  std::vector<uint64_t> layer_lookups, layer_misses;  // [layers]
  std::vector<uint64_t> unit_resident_steps;          // filled on request only, see below
};

struct CountOptions {
  // Also fills unit_resident_steps: over counted steps of the unit's layer, how often it was
  // resident when the step began (a residency map). Costs time.
  bool residency = false;
  std::function<void(uint64_t done, uint64_t passes)> progress;
};

// One result per request, in order. InvalidArgument for a policy, a pool or a heat that does not
// fit, ResourceExhausted where the temporary folder has no room.
//
// A pool may be smaller than a step: a missing unit for which nobody may leave passes through.
// Pools without a slot are allowed. For policies that draw numbers, pool p of those with slots has
// the seed `seed` + p, as in the scheduler's arenas.
Result<std::vector<CountResult>> CountMisses(TraceFile* trace, const CountWorkload& workload,
                                             std::span<const CountRequest> requests,
                                             const CountOptions& options = {});

// LRU at every size from one reading: misses[p][s] are those of pool p with s slots, for s from 0
// to the pool's units. Equal to CountMisses with "lru" at every size that is at least the largest
// step's distinct units in the pool. layer_misses likewise, per layer.
struct LruCurve {
  uint64_t lookups = 0;
  std::vector<std::vector<uint64_t>> pool_misses;   // [pool][slots]
  std::vector<std::vector<uint64_t>> layer_misses;  // [layer][slots of its pool]
  std::vector<uint64_t> layer_lookups;
};
Result<LruCurve> CountLruCurve(TraceFile* trace, const CountWorkload& workload,
                               const CountOptions& options = {});

}  // namespace berth

#endif  // BERTH_RUNTIME_COUNT_COUNT_H_
