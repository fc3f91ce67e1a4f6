#include "policies/fifo.h"

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> FifoPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new FifoPolicy(options));
}

void FifoPolicy::BeginStep(uint64_t /*pass*/) { queue_.BeginStep(); }

void FifoPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!resident || queue_.Contains(local),
                  "a unit that is not resident was touched as such");
}

void FifoPolicy::Inserted(UnitIndex unit) { queue_.PushNewest(range_.Local(unit)); }

void FifoPolicy::Erased(UnitIndex unit) { queue_.Remove(range_.Local(unit)); }

UnitIndex FifoPolicy::NextVictim(const Evictable& evictable) {
  return queue_.NextVictim(evictable, range_);
}

void FifoPolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void FifoPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<FifoPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
