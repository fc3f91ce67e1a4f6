#include "policies/slru.h"

#include <algorithm>

#include "policies/leaving_order.h"
#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> SlruPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const uint64_t segments,
                         params.Count("segments", kDefaultSegments, 1, kMaxSegments));
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new SlruPolicy(options, segments));
}

SlruPolicy::SlruPolicy(const PolicyOptions& options, uint64_t segments)
    : range_(options), segment_of_(options.units, kNowhere) {
  const auto count = static_cast<uint32_t>(segments);
  segments_.reserve(count);
  for (uint32_t at = 0; at < count; ++at) {
    const uint32_t share = options.slots / count + (at < options.slots % count ? 1 : 0);
    segments_.push_back({RecencyList(options.units), share});
  }
}

void SlruPolicy::BeginStep(uint64_t /*pass*/) {
  for (Segment& segment : segments_) segment.units.BeginStep();
}

void SlruPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) return;
  BERTH_CHECK_MSG(segment_of_[local] != kNowhere,
                  "a unit that is not resident was touched as such");
  size_t at = segment_of_[local];
  segments_[at].units.Remove(local);
  at = std::min(at + 1, segments_.size() - 1);
  Put(local, at);
  for (; at > 0 && segments_[at].units.size() > segments_[at].share; --at) {
    const uint32_t oldest = segments_[at].units.Oldest();
    segments_[at].units.Remove(oldest);
    Put(oldest, at - 1);
  }
}

void SlruPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(segment_of_[local] == kNowhere, "a unit that is resident was inserted");
  const auto roomy = std::find_if(segments_.begin(), segments_.end(), [](const Segment& segment) {
    return segment.units.size() < segment.share;
  });
  Put(local, roomy == segments_.end() ? 0 : static_cast<size_t>(roomy - segments_.begin()));
}

void SlruPolicy::Put(uint32_t unit, size_t segment) {
  segments_[segment].units.PushNewest(unit);
  segment_of_[unit] = static_cast<uint8_t>(segment);
}

void SlruPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(segment_of_[local] != kNowhere, "a unit that is not resident was erased");
  segments_[segment_of_[local]].units.Remove(local);
  segment_of_[local] = kNowhere;
}

UnitIndex SlruPolicy::NextVictim(const Evictable& evictable) {
  for (Segment& segment : segments_) {
    const UnitIndex victim = segment.units.NextVictim(evictable, range_);
    if (victim != kNoUnit) return victim;
  }
  return kNoUnit;
}

void SlruPolicy::Learned(std::span<double> heat) const { RankByLeaving(*this, range_, heat); }

void SlruPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<SlruPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
