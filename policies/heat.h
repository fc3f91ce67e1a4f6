// Heat with pins: the hottest units are pinned, the others leave in LRU order.
//
// The pin set is the `pins` units of the range with the highest decayed counts (decayed_counts.h;
// never more than have been touched at all), resident or not: a resident one is never a victim, one
// that comes in later is pinned as it comes. A profile (PolicyOptions::heat) gives the starting
// counts and the first pin set; without one nothing is pinned before the first choice.
//
// The set is chosen anew at the first step `every` passes after the last choice, in O(units) on
// average (a selection, not a sort), with arrays that exist from the start. Over 16 passes of a
// whole model that is some tens of nanoseconds a touched unit; bench/policy_bench shows it.
//
// At least 3 x top-k slots, and at least one, are never pinned, so that a step always finds
// victims; note() says when that lowered the pins asked for.
#ifndef BERTH_POLICIES_HEAT_H_
#define BERTH_POLICIES_HEAT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/decayed_counts.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class HeatPolicy final : public Policy {
 public:
  static constexpr double kDefaultPinPercent = 50;
  static constexpr uint64_t kDefaultEvery = 16;

  // Keys: pins (units, or percent of the slots), decay, every (passes).
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);

  HeatPolicy(const PolicyOptions& options, uint64_t pins, double decay, uint64_t every);

  std::string_view name() const override { return "heat"; }
  std::string note() const override { return note_; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // The decayed counts, in touches as of now.
  void Learned(std::span<double> heat) const override;

 private:
  void ChoosePins();
  void ListCandidates();

  UnitRange range_;
  DecayedCounts counts_;
  RecencyList recency_;            // all resident units
  RecencyList candidates_;         // those that are not pinned, in the same order
  std::vector<uint8_t> pinned_;    // by unit
  std::vector<uint32_t> hottest_;  // room for the choice
  size_t pins_;
  std::string note_;
  uint64_t every_;
  uint64_t chosen_at_ = 0;  // pass of the last choice
  bool started_ = false;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_HEAT_H_
