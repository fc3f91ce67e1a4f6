// Which layers share slots, and how a number of slots or bytes is split over them: as the scheduler
// core and the arena split theirs, so that a counted size is a size that can be run.
#ifndef BERTH_RUNTIME_CURVE_POOLS_H_
#define BERTH_RUNTIME_CURVE_POOLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth::curve {

enum class Scope : uint8_t {
  kShared,    // the layers of a size class share a pool
  kPerLayer,  // a pool for each layer
  kGlobal,    // one pool, whatever the units' sizes
};

struct Pool {
  std::vector<uint32_t> layers;
  uint32_t size_class = 0;
  uint64_t units = 0;
};

struct SizeClass {
  std::vector<uint32_t> layers;
  uint64_t units = 0;
  uint64_t unit_bytes = 0;  // of its largest unit; 0: not known
};

struct Pools {
  uint32_t top_k = 0;
  uint64_t units = 0;
  std::vector<SizeClass> classes;
  std::vector<Pool> pools;              // class by class, layers ascending
  std::vector<uint32_t> pool_of_layer;  // as CountWorkload has it

  bool knows_bytes() const { return !classes.empty() && classes.front().unit_bytes > 0; }
  // One token's cycle: the units that it uses in the layers of a pool.
  uint64_t Cycle(const Pool& pool) const;
  // 3 x top-k, or all units where the class has fewer.
  uint64_t MinimumSlots(const SizeClass& c) const;
  // What the slots of an arena take.
  uint64_t BytesOf(const std::vector<uint32_t>& pool_slots) const;
};

// `unit_bytes`, one value or one a layer, counts instead of what the trace states; empty: what the
// trace states. InvalidArgument for more units than a policy serves, unit bytes of nothing or
// beyond anything, or another number of them.
Result<Pools> MakePools(const TraceInfo& trace, Scope scope, std::span<const uint64_t> unit_bytes);

// `slots` over the pools: every class gets the same share of its units, quotas within a class are
// as equal as they can be. `slots` must not exceed the units.
std::vector<uint32_t> SplitSlots(const Pools& pools, uint64_t slots);
// What an arena of `bytes` holds. Needs knows_bytes().
std::vector<uint32_t> SplitBytes(const Pools& pools, uint64_t bytes);

}  // namespace berth::curve

#endif  // BERTH_RUNTIME_CURVE_POOLS_H_
