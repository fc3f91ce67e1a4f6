#include "policies/two_queue.h"

#include <utility>

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> TwoQueuePolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const uint64_t in,
                         params.CountOrPercent("in", options.slots, kDefaultInPercent, UINT32_MAX));
  BERTH_ASSIGN_OR_RETURN(const uint64_t out, params.CountOrPercent("out", options.slots,
                                                                   kDefaultOutPercent, UINT32_MAX));
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new TwoQueuePolicy(options, in, out));
}

TwoQueuePolicy::TwoQueuePolicy(const PolicyOptions& options, uint64_t in, uint64_t out)
    : range_(options),
      in_(options.units),
      main_(options.units),
      out_(options.units, out),
      returning_(options.units, 0),
      in_share_(in) {}

void TwoQueuePolicy::BeginStep(uint64_t /*pass*/) {
  in_.BeginStep();
  main_.BeginStep();
}

void TwoQueuePolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) {
    if (out_.Take(local)) returning_[local] = 1;
    return;
  }
  if (!in_.Contains(local)) main_.MoveToNewest(local);
}

void TwoQueuePolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!in_.Contains(local) && !main_.Contains(local),
                  "a unit that is resident was inserted");
  // A prefetch brings units in that were not touched.
  const bool remembered = out_.Take(local) || returning_[local] != 0;
  returning_[local] = 0;
  (remembered ? main_ : in_).PushNewest(local);
}

void TwoQueuePolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  const bool evicted = std::exchange(chosen_, kNoUnit) == unit;
  if (!in_.Contains(local)) return main_.Remove(local);
  in_.Remove(local);
  if (evicted) out_.Push(local);
}

UnitIndex TwoQueuePolicy::NextVictim(const Evictable& evictable) {
  const bool in_first = in_.size() > in_share_;
  chosen_ = (in_first ? in_ : main_).NextVictim(evictable, range_);
  if (chosen_ == kNoUnit) chosen_ = (in_first ? main_ : in_).NextVictim(evictable, range_);
  return chosen_;
}

void TwoQueuePolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void TwoQueuePolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<TwoQueuePolicy&>(policy), run, slots);
}

}  // namespace berth::policies
