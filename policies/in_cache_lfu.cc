#include "policies/in_cache_lfu.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> InCacheLfuPolicy::Make(Params& params,
                                                       const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new InCacheLfuPolicy(options));
}

InCacheLfuPolicy::InCacheLfuPolicy(const PolicyOptions& options)
    : range_(options),
      entries_(options.units),
      victims_(options.units, FewestFirst{entries_.data()}) {}

void InCacheLfuPolicy::BeginStep(uint64_t /*pass*/) { victims_.BeginStep(); }

void InCacheLfuPolicy::Touched(UnitIndex unit, bool resident) {
  const uint32_t local = range_.Local(unit);
  if (!resident) return;
  ++entries_[local].uses;
  entries_[local].last_use = ++uses_;
  victims_.MovedBack(local);
}

void InCacheLfuPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  entries_[local] = {1, ++uses_};
  victims_.Insert(local);
}

void InCacheLfuPolicy::Erased(UnitIndex unit) { victims_.Remove(range_.Local(unit)); }

UnitIndex InCacheLfuPolicy::NextVictim(const Evictable& evictable) {
  return victims_.NextVictim(evictable, range_);
}

void InCacheLfuPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<InCacheLfuPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
