#include "policies/s3_fifo.h"

#include <algorithm>
#include <utility>

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> S3FifoPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(
      const uint64_t small,
      params.CountOrPercent("small", options.slots, kDefaultSmallPercent, UINT32_MAX));
  BERTH_ASSIGN_OR_RETURN(
      const uint64_t ghost,
      params.CountOrPercent("ghost", options.slots, kDefaultGhostPercent, UINT32_MAX));
  BERTH_ASSIGN_OR_RETURN(const uint64_t threshold,
                         params.Count("threshold", kDefaultThreshold, 1, kMostUses));
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new S3FifoPolicy(options, small, ghost, threshold));
}

S3FifoPolicy::S3FifoPolicy(const PolicyOptions& options, uint64_t small, uint64_t ghost,
                           uint64_t threshold)
    : range_(options),
      small_(options.units),
      main_(options.units),
      ghosts_(options.units, ghost),
      uses_(options.units, 0),
      returning_(options.units, 0),
      main_share_(options.slots - std::min<uint64_t>(small, options.slots)),
      threshold_(static_cast<uint8_t>(threshold)) {}

void S3FifoPolicy::BeginStep(uint64_t /*pass*/) {
  small_.BeginStep();
  main_.BeginStep();
}

void S3FifoPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) {
    if (ghosts_.Take(local)) returning_[local] = 1;
    return;
  }
  BERTH_CHECK_MSG(small_.Contains(local) || main_.Contains(local),
                  "a unit that is not resident was touched as such");
  if (uses_[local] < kMostUses) ++uses_[local];
}

void S3FifoPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!small_.Contains(local) && !main_.Contains(local),
                  "a unit that is resident was inserted");
  // A prefetch brings units in that were not touched.
  const bool remembered = ghosts_.Take(local) || returning_[local] != 0;
  returning_[local] = 0;
  uses_[local] = 0;
  (remembered ? main_ : small_).PushNewest(local);
}

void S3FifoPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  const bool evicted = std::exchange(chosen_, kNoUnit) == unit;
  if (!small_.Contains(local)) return main_.Remove(local);
  small_.Remove(local);
  if (evicted) ghosts_.Push(local);
}

UnitIndex S3FifoPolicy::NextVictim(const Evictable& evictable) {
  const bool main_first = main_.size() > main_share_;
  chosen_ = main_first ? FromMain(evictable) : FromSmall(evictable);
  if (chosen_ == kNoUnit) chosen_ = main_first ? FromSmall(evictable) : FromMain(evictable);
  // What the small queue moved to a main queue that had been searched.
  if (chosen_ == kNoUnit && main_first) chosen_ = FromMain(evictable);
  return chosen_;
}

UnitIndex S3FifoPolicy::FromSmall(const Evictable& evictable) {
  while (small_.Candidate() != small_.End()) {
    const uint32_t local = small_.Candidate();
    if (uses_[local] >= threshold_) {
      uses_[local] = 0;
      small_.Remove(local);
      main_.PushNewest(local);
      continue;
    }
    const UnitIndex unit = range_.Global(local);
    if (evictable(unit)) return unit;
    small_.PassOver();
  }
  return kNoUnit;
}

UnitIndex S3FifoPolicy::FromMain(const Evictable& evictable) {
  while (main_.Candidate() != main_.End()) {
    const uint32_t local = main_.Candidate();
    if (uses_[local] > 0) {
      --uses_[local];
      main_.MoveToNewest(local);
      continue;
    }
    const UnitIndex unit = range_.Global(local);
    if (evictable(unit)) return unit;
    main_.PassOver();
  }
  return kNoUnit;
}

void S3FifoPolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void S3FifoPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<S3FifoPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
