#include "policies/lru.h"

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> LruPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new LruPolicy(options));
}

LruPolicy::LruPolicy(const PolicyOptions& options)
    : range_(options), recency_(options.units), holds_place_(options.units) {
  touched_.reserve(options.units);
}

void LruPolicy::BeginStep(uint64_t /*pass*/) {
  for (const uint32_t local : touched_) {
    if (!holds_place_[local]) continue;
    holds_place_[local] = 0;
    recency_.Remove(local);
  }
  touched_.clear();
  recency_.BeginStep();
}

void LruPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (resident) return recency_.MoveToNewest(local);
  recency_.PushNewest(local);
  holds_place_[local] = 1;
  touched_.push_back(local);
}

void LruPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  if (!holds_place_[local]) return recency_.PushNewest(local);
  holds_place_[local] = 0;
}

void LruPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!holds_place_[local], "a unit that is not resident was erased");
  recency_.Remove(local);
}

UnitIndex LruPolicy::NextVictim(const Evictable& evictable) {
  for (; recency_.Candidate() != recency_.End(); recency_.PassOver()) {
    const uint32_t local = recency_.Candidate();
    if (!holds_place_[local] && evictable(range_.Global(local))) return range_.Global(local);
  }
  return kNoUnit;
}

void LruPolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void LruPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<LruPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
