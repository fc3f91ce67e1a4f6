// ARC (Megiddo and Modha, FAST 2003): an LRU list of units used once and one of units used again,
// whose shares follow the misses.
//
// What leaves a list is remembered in its ghost list; together the first list and its ghosts are at
// most as many as the slots, all four at most twice as many. A touch of a ghost moves the target of
// the first list: up by max(1, second ghosts / first ghosts) where the unit was used once, down by
// max(1, first ghosts / second ghosts) where it was used again. The target is a real number from 0
// to the slots. A ghost comes back into the second list, and so does a unit that is used while it
// is resident; others come into the first. The first list gives a victim when it is above the
// target (or at it, for a unit that was used again), the second one else; where the one has nothing
// that may leave, the other gives.
//
// O(1) a call, NextVictim amortized over a step.
#ifndef BERTH_POLICIES_ARC_H_
#define BERTH_POLICIES_ARC_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/access_play.h"
#include "policies/ghost_list.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class ArcPolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  explicit ArcPolicy(const PolicyOptions& options);

  std::string_view name() const override { return "arc"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex unit) override;
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Ranks in the order of leaving.
  void Learned(std::span<double> heat) const override;

 private:
  // What a unit that is about to come in was when it was touched.
  enum class Returning : uint8_t { kNo, kUsedOnce, kUsedAgain };

  void TouchedGhost(uint32_t unit);

  UnitRange range_;
  RecencyList once_;
  RecencyList again_;
  GhostList once_ghosts_;
  GhostList again_ghosts_;
  std::vector<Returning> returning_;  // by unit
  uint32_t slots_;
  double target_ = 0;  // of once_.size()
  // The unit that was admitted last, and is looked for room, was among again_ghosts_.
  bool for_used_again_ = false;
  UnitIndex chosen_ = kNoUnit;  // the last victim, until it is erased
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_ARC_H_
