#include "policies/in_cache_lfu.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> InCacheLfuPolicy::Make(Params& params,
                                                       const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new InCacheLfuPolicy(options));
}

InCacheLfuPolicy::InCacheLfuPolicy(const PolicyOptions& options)
    : range_(options),
      entries_(options.units),
      victims_(options.units, FewestFirst{entries_.data()}) {
  for (size_t unit = 0; unit < options.heat.size(); ++unit) {
    entries_[unit].uses = static_cast<uint64_t>(options.heat[unit]);
  }
}

void InCacheLfuPolicy::BeginStep(uint64_t /*pass*/) { victims_.BeginStep(); }

void InCacheLfuPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) return;
  ++entries_[local].uses;
  entries_[local].last_use = ++uses_;
  victims_.MovedBack(local);
}

void InCacheLfuPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  // What a profile says counts for the first stay only.
  entries_[local] = {std::max<uint64_t>(1, entries_[local].uses), ++uses_};
  victims_.Insert(local);
}

void InCacheLfuPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  victims_.Remove(local);
  entries_[local].uses = 0;
}

UnitIndex InCacheLfuPolicy::NextVictim(const Evictable& evictable) {
  return victims_.NextVictim(evictable, range_);
}

void InCacheLfuPolicy::Learned(std::span<double> heat) const {
  BERTH_CHECK(heat.size() == entries_.size());
  for (uint32_t unit = 0; unit < entries_.size(); ++unit) {
    const Entry& entry = entries_[unit];
    const double order = static_cast<double>(entry.last_use) / static_cast<double>(uses_ + 1);
    heat[unit] = victims_.Contains(unit) ? static_cast<double>(entry.uses) + order : 0;
  }
}

void InCacheLfuPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<InCacheLfuPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
