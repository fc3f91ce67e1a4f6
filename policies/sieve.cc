#include "policies/sieve.h"

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> SievePolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new SievePolicy(options));
}

SievePolicy::SievePolicy(const PolicyOptions& options)
    : range_(options),
      queue_(options.units),
      marked_(options.units, 0),
      refused_(options.units, 0),
      hand_(queue_.End()) {}

void SievePolicy::BeginStep(uint64_t /*pass*/) {
  ++step_;
  exhausted_ = false;
}

void SievePolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) return;
  BERTH_CHECK_MSG(queue_.Contains(local), "a unit that is not resident was touched as such");
  marked_[local] = 1;
}

void SievePolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  queue_.PushNewest(local);
  marked_[local] = 0;
  exhausted_ = false;
}

void SievePolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  const uint32_t newer = queue_.Newer(local);
  queue_.Remove(local);
  if (hand_ == local) hand_ = newer;
}

UnitIndex SievePolicy::NextVictim(const Evictable& evictable) {
  if (exhausted_) return kNoUnit;
  // Once as many units in a row as there are were passed over, there is none.
  for (uint32_t passes = queue_.size(); passes > 0; hand_ = queue_.Newer(hand_)) {
    if (hand_ == queue_.End()) hand_ = queue_.Oldest();
    if (marked_[hand_]) {
      marked_[hand_] = 0;
      passes = queue_.size();
    } else if (MayLeave(hand_, evictable)) {
      return range_.Global(hand_);
    } else {
      --passes;
    }
  }
  exhausted_ = true;
  return kNoUnit;
}

bool SievePolicy::MayLeave(uint32_t unit, const Evictable& evictable) {
  if (refused_[unit] == step_) return false;
  if (evictable(range_.Global(unit))) return true;
  refused_[unit] = step_;
  return false;
}

void SievePolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void SievePolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<SievePolicy&>(policy), run, slots);
}

}  // namespace berth::policies
