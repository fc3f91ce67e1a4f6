#include "policies/arc.h"

#include <algorithm>
#include <utility>

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> ArcPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new ArcPolicy(options));
}

// The ghost lists hold each other down (Inserted), so they need no bound of their own.
ArcPolicy::ArcPolicy(const PolicyOptions& options)
    : range_(options),
      once_(options.units),
      again_(options.units),
      once_ghosts_(options.units, options.units),
      again_ghosts_(options.units, options.units),
      returning_(options.units, Returning::kNo),
      slots_(options.slots) {}

void ArcPolicy::BeginStep(uint64_t /*pass*/) {
  once_.BeginStep();
  again_.BeginStep();
}

void ArcPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) return TouchedGhost(local);
  if (!once_.Contains(local)) return again_.MoveToNewest(local);
  once_.Remove(local);
  again_.PushNewest(local);
}

void ArcPolicy::TouchedGhost(uint32_t unit) {
  const double once = once_ghosts_.size(), again = again_ghosts_.size();
  if (once_ghosts_.Take(unit)) {
    target_ = std::min<double>(target_ + std::max(1.0, again / once), slots_);
    returning_[unit] = Returning::kUsedOnce;
  } else if (again_ghosts_.Take(unit)) {
    target_ = std::max(target_ - std::max(1.0, once / again), 0.0);
    returning_[unit] = Returning::kUsedAgain;
  }
}

bool ArcPolicy::Admit(UnitIndex unit) {
  for_used_again_ = returning_[range_.Local(unit)] == Returning::kUsedAgain;
  return true;
}

void ArcPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!once_.Contains(local) && !again_.Contains(local),
                  "a unit that is resident was inserted");
  // A prefetch brings units in that were not touched: no reason to move the target.
  const bool ghost = once_ghosts_.Take(local) || again_ghosts_.Take(local);
  const bool remembered = ghost || returning_[local] != Returning::kNo;
  returning_[local] = Returning::kNo;
  (remembered ? again_ : once_).PushNewest(local);

  while (once_ghosts_.size() > 0 && once_.size() + once_ghosts_.size() > slots_) {
    once_ghosts_.ForgetOldest();
  }
  const uint64_t most = uint64_t{2} * slots_;
  while (again_ghosts_.size() > 0 &&
         uint64_t{once_.size()} + again_.size() + once_ghosts_.size() + again_ghosts_.size() >
             most) {
    again_ghosts_.ForgetOldest();
  }
}

void ArcPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  const bool evicted = std::exchange(chosen_, kNoUnit) == unit;
  const bool once = once_.Contains(local);
  (once ? once_ : again_).Remove(local);
  if (evicted) (once ? once_ghosts_ : again_ghosts_).Push(local);
}

UnitIndex ArcPolicy::NextVictim(const Evictable& evictable) {
  const double once = once_.size();
  const bool from_once = once > target_ || (once == target_ && for_used_again_);
  chosen_ = (from_once ? once_ : again_).NextVictim(evictable, range_);
  if (chosen_ == kNoUnit) chosen_ = (from_once ? again_ : once_).NextVictim(evictable, range_);
  return chosen_;
}

void ArcPolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void ArcPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<ArcPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
