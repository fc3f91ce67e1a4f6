// LRU: the least recently used unit leaves first.
//
// A unit is used when a step routes to it and when it is inserted. A step's units keep the order of
// their touches, hits and misses alike, so the first of them is the first to leave later on: a
// touched unit without a slot holds its place in the list until it is inserted or the next step
// begins. So in a pool that can hold each of its steps, what n slots hold is part of what n + 1
// hold, step by step: LRU is a stack algorithm.
#ifndef BERTH_POLICIES_LRU_H_
#define BERTH_POLICIES_LRU_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/access_play.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class LruPolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  explicit LruPolicy(const PolicyOptions& options);

  std::string_view name() const override { return "lru"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Ranks in the order of leaving.
  void Learned(std::span<double> heat) const override;

 private:
  UnitRange range_;
  RecencyList recency_;               // of the resident units, and of those that hold a place
  std::vector<uint8_t> holds_place_;  // by unit
  std::vector<uint32_t> touched_;     // of this step: the misses
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_LRU_H_
