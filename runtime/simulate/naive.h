// The naive engine, as `--chunk 0` plays it: what the chunks of the core are measured against.
//
// A step first stages all units that it lacks into an LRU arena which protects nothing, so where
// they are more than the arena has slots, the last throw the first out, and hits with them. Then it
// computes, unit by unit in order: a run of units that are there goes as one call; one that has
// left is staged again, alone, while everything waits (and throws out the next in its turn).
// Nothing overlaps but the copies of one batch. The host tier is LRU too, and inclusive.
//
// A model outside the core: a unit counts as a miss where the step staged it at least once.
#ifndef BERTH_RUNTIME_SIMULATE_NAIVE_H_
#define BERTH_RUNTIME_SIMULATE_NAIVE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "berth/stats.h"
#include "runtime/simulate/cost_model.h"
#include "runtime/simulate/lru_pools.h"
#include "runtime/simulate/virtual_clock.h"
#include "scheduler/core.h"

namespace berth {

class NaiveEngine {
 public:
  NaiveEngine(const MachineCosts& costs, const scheduler::CoreOptions& options);

  void Step(uint32_t layer, uint32_t rows, std::span<const int32_t> ids, uint64_t pass);
  void Rest(Nanos nanos) { clock_.AdvanceTo(clock_.now() + nanos); }

  const Counters& counters() const { return counters_; }
  const MovedBytes& moved() const { return moved_; }
  const VirtualClock& clock() const { return clock_; }
  uint64_t staged_again() const { return staged_again_; }

 private:
  struct Wanted {
    UnitIndex unit = kNoUnit;
    uint32_t card = 0;
    uint32_t pairs = 0;
    bool staged = false;
  };
  void Group(uint32_t layer, std::span<const int32_t> ids);
  void CountUses();
  // Puts the unit into its card's arena and onto the links of the batch.
  void Stage(Wanted* wanted);
  void EndBatch();
  // Computes wanted_[first, end), which are all there.
  void ComputeRun(size_t first, size_t end);
  void Spend(VirtualClock::Kind kind, Nanos nanos);

  MachineCosts costs_;
  const scheduler::CoreOptions options_;
  std::vector<LruPools> arenas_;  // [cards]
  LruPools host_;
  VirtualClock clock_;
  Counters counters_;
  MovedBytes moved_;
  uint64_t staged_again_ = 0;
  uint64_t last_pass_ = UINT64_MAX;
  std::vector<Wanted> wanted_;
  std::vector<uint32_t> at_;  // [experts] into wanted_, UINT32_MAX: not wanted
  // Of the batch under way: when each drive, each link and each issuing thread is free again.
  std::vector<Nanos> drive_free_, link_free_, issue_free_;
  std::vector<Nanos> link_busy_;
  uint32_t batch_ = 0;
  bool batch_reads_ = false;
  Nanos batch_end_ = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_NAIVE_H_
