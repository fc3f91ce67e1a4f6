// LRU: the least recently used unit leaves first.
//
// A unit is used when a step routes to it and when it is inserted. A step's units keep the order of
// their touches, so the first of them is the first to leave later on.
#ifndef BERTH_POLICIES_LRU_H_
#define BERTH_POLICIES_LRU_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class LruPolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);

  explicit LruPolicy(const PolicyOptions& options) : range_(options), recency_(options.units) {}

  std::string_view name() const override { return "lru"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;

 private:
  UnitRange range_;
  RecencyList recency_;  // of the resident units
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_LRU_H_
