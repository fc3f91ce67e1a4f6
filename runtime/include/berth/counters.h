// Counters: what was decided and what that moved. All but those marked "timing" are a function of
// the submissions alone: storage, its order and its speed do not change them.
#ifndef BERTH_COUNTERS_H_
#define BERTH_COUNTERS_H_

#include <cstdint>
#include <vector>

namespace berth {

struct CardCounters {
  uint64_t requests = 0;    // distinct units of steps executing here: hits + misses
  uint64_t hits = 0;        // an earlier call gave the unit a slot of the arena
  uint64_t hits_late = 0;   // timing: of the hits, those whose bytes were still moving
  uint64_t misses = 0;      // given a slot now, or run from the ring
  uint64_t ring_units = 0;  // of the misses, those that ran from the ring
  // Of the misses, those that the host computed where their bytes lie in RAM.
  uint64_t host_computed = 0;
  uint64_t inserted = 0;  // units that got a slot, for whatever reason
  uint64_t evicted = 0;
  uint64_t waves = 0;       // that the card computed
  uint64_t host_waves = 0;  // that the host computed, of units placed here
  uint64_t prefetch_admitted = 0;
  uint64_t prefetch_dropped = 0;
  uint64_t prefetch_resident = 0;  // hinted, but had a slot already
  // Of the admitted: a step routed to the unit; it left before any did; it is still there unused.
  uint64_t prefetch_used = 0;
  uint64_t prefetch_wasted = 0;
  uint64_t prefetch_unused = 0;        // now; goes up and down
  uint64_t bytes_prefetch_wasted = 0;  // units x size
  uint64_t lease_loads = 0;            // units loaded because a lease asked for them
  uint64_t warm_loads = 0;             // units loaded before the first step
  // Of the units that the host computed and the policy admitted: loaded behind their step, which
  // does not wait for them; and not loaded, because too many such loads would stand before them.
  uint64_t behind_loads = 0;
  uint64_t behind_dropped = 0;
  uint64_t units_h2d = 0;         // copies to the card that were decided
  uint64_t bytes_h2d_demand = 0;  // units x size
  uint64_t bytes_h2d_prefetch = 0;
  uint64_t bytes_h2d_warm = 0;
  uint64_t bytes_h2d_behind = 0;
  uint64_t units_d2h = 0;
  uint64_t bytes_d2h = 0;
};

struct HostCounters {
  uint64_t requests = 0;  // card misses, of demand: hits + misses
  uint64_t hits = 0;
  uint64_t hits_late = 0;  // timing
  uint64_t misses = 0;
  uint64_t staged = 0;  // read into staging because the tier took no slot for them
  uint64_t inserted = 0;
  uint64_t evicted = 0;
  uint64_t promoted = 0;         // exclusive: left for a card
  uint64_t copied_back = 0;      // exclusive: came back from a card
  uint64_t prefetch_hits = 0;    // hinted units that the tier had
  uint64_t prefetch_misses = 0;  // hinted units that are read from storage
  uint64_t lease_hits = 0;
  uint64_t lease_misses = 0;
  uint64_t warm_hits = 0;    // units on their way to a card before the first step
  uint64_t warm_misses = 0;  // ... that are read from storage
  uint64_t warm_loads = 0;   // read into this tier alone before the first step
};

struct StorageCounters {
  uint64_t units_demand = 0;  // steps and leases
  uint64_t units_prefetch = 0;
  uint64_t units_warm = 0;
  uint64_t bytes_demand = 0;  // payload: units x size
  uint64_t bytes_prefetch = 0;
  uint64_t bytes_warm = 0;
  uint64_t bytes_alignment = 0;  // asked for besides, because reads are rounded out
};

struct Counters {
  uint64_t passes = 0;
  uint64_t steps = 0;
  uint64_t rows = 0;            // summed over steps
  uint64_t distinct_units = 0;  // summed over steps and executing cards
  uint64_t failed_steps = 0;
  uint64_t failed_reads = 0;    // units whose read or copy failed
  uint64_t failed_updates = 0;  // of tables; each costs the arena a slot
  uint64_t leases = 0;
  uint64_t leases_refused = 0;
  std::vector<CardCounters> cards;
  HostCounters host;
  StorageCounters storage;
  // Rolling hash over every decision (hit, miss, slot, victim, wave, source) in order.
  uint64_t decisions = 0;
};

}  // namespace berth

#endif  // BERTH_COUNTERS_H_
