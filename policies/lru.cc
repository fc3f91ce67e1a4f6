#include "policies/lru.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> LruPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new LruPolicy(options));
}

void LruPolicy::BeginStep(uint64_t /*pass*/) { recency_.BeginStep(); }

void LruPolicy::Touched(UnitIndex unit, bool resident) {
  const uint32_t local = range_.Local(unit);
  if (resident) recency_.MoveToNewest(local);
}

void LruPolicy::Inserted(UnitIndex unit) { recency_.PushNewest(range_.Local(unit)); }

void LruPolicy::Erased(UnitIndex unit) { recency_.Remove(range_.Local(unit)); }

UnitIndex LruPolicy::NextVictim(const Evictable& evictable) {
  return recency_.NextVictim(evictable, range_);
}

}  // namespace berth::policies
