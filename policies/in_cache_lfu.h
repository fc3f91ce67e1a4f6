// In-cache LFU: the unit with the fewest uses since it came in leaves first. Counts are lost on
// eviction and never age: a unit that comes back starts at 1. The rule that many caches call LFU;
// the registered "lfu" keeps its counts.
//
// Ties: the unit whose last use is longer ago leaves first. Coming in counts as a use. A profile
// (PolicyOptions::heat) gives the count, rounded down, that a unit starts with when it comes in for
// the first time.
#ifndef BERTH_POLICIES_IN_CACHE_LFU_H_
#define BERTH_POLICIES_IN_CACHE_LFU_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/access_play.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/unit_range.h"
#include "policies/victim_heap.h"

namespace berth::policies {

class InCacheLfuPolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  explicit InCacheLfuPolicy(const PolicyOptions& options);
  // The heap's order refers to the counts beside it.
  InCacheLfuPolicy(const InCacheLfuPolicy&) = delete;
  InCacheLfuPolicy& operator=(const InCacheLfuPolicy&) = delete;

  std::string_view name() const override { return "in-cache-lfu"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Uses since each resident unit came in, and a fraction that keeps the order of equal ones.
  void Learned(std::span<double> heat) const override;

 private:
  struct Entry {
    uint64_t uses = 0;
    uint64_t last_use = 0;  // number of the use, from 1
  };
  // Total over the resident units: no two have the same last use.
  struct FewestFirst {
    const Entry* entries;
    bool operator()(uint32_t a, uint32_t b) const {
      const Entry& x = entries[a];
      const Entry& y = entries[b];
      return x.uses != y.uses ? x.uses < y.uses : x.last_use < y.last_use;
    }
  };

  UnitRange range_;
  std::vector<Entry> entries_;  // by unit
  uint64_t uses_ = 0;           // of all units
  VictimHeap<FewestFirst> victims_;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_IN_CACHE_LFU_H_
