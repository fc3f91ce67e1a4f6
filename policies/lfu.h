// LFU with decay: the unit with the lowest decayed count of touches leaves first.
//
// Counts survive eviction (decayed_counts.h): a unit that comes back is worth what its touches are
// worth, not one. Ties: the unit whose last touch is longer ago leaves first, then the lower index.
// A profile (PolicyOptions::heat) gives the starting counts.
#ifndef BERTH_POLICIES_LFU_H_
#define BERTH_POLICIES_LFU_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "policies/access_play.h"
#include "policies/decayed_counts.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/unit_range.h"
#include "policies/victim_heap.h"

namespace berth::policies {

class LfuPolicy final : public Policy {
 public:
  // Keys: decay, per pass.
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  LfuPolicy(const PolicyOptions& options, double decay);
  // The heap's order refers to the counts beside it.
  LfuPolicy(const LfuPolicy&) = delete;
  LfuPolicy& operator=(const LfuPolicy&) = delete;

  std::string_view name() const override { return "lfu"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // The decayed counts, in touches as of now.
  void Learned(std::span<double> heat) const override;

 private:
  struct ColdestFirst {
    const DecayedCounts* counts;
    bool operator()(uint32_t a, uint32_t b) const { return counts->Colder(a, b); }
  };

  UnitRange range_;
  DecayedCounts counts_;
  VictimHeap<ColdestFirst> victims_;  // the resident units
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_LFU_H_
