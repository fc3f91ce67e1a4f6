#include "policies/clock.h"

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> ClockPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const uint64_t bits, params.Count("bits", kDefaultBits, 1, kMaxBits));
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new ClockPolicy(options, bits));
}

ClockPolicy::ClockPolicy(const PolicyOptions& options, uint64_t bits)
    : range_(options),
      queue_(options.units),
      chances_(options.units, 0),
      most_chances_(static_cast<uint8_t>((1u << bits) - 1)) {}

void ClockPolicy::BeginStep(uint64_t /*pass*/) { queue_.BeginStep(); }

void ClockPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) return;
  BERTH_CHECK_MSG(queue_.Contains(local), "a unit that is not resident was touched as such");
  if (chances_[local] < most_chances_) ++chances_[local];
}

void ClockPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  queue_.PushNewest(local);
  chances_[local] = 0;
}

void ClockPolicy::Erased(UnitIndex unit) { queue_.Remove(range_.Local(unit)); }

UnitIndex ClockPolicy::NextVictim(const Evictable& evictable) {
  while (queue_.Candidate() != queue_.End()) {
    const uint32_t local = queue_.Candidate();
    if (chances_[local] > 0) {
      --chances_[local];
      queue_.MoveToNewest(local);
      continue;
    }
    const UnitIndex unit = range_.Global(local);
    if (evictable(unit)) return unit;
    queue_.PassOver();
  }
  return kNoUnit;
}

void ClockPolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void ClockPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<ClockPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
