// 2Q (Johnson and Shasha, VLDB 1994; the full version): units prove themselves by coming back.
//
// A unit comes into a FIFO queue, in which uses do not count. When the queue is above its share of
// the slots, `in`, its oldest unit leaves and is remembered among the last `out` that did. One that
// is touched while it is remembered comes into an LRU list instead. That list gives a victim when
// the queue is within its share; where the one has nothing that may leave, the other gives.
//
// O(1) a call, NextVictim amortized over a step.
#ifndef BERTH_POLICIES_TWO_QUEUE_H_
#define BERTH_POLICIES_TWO_QUEUE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/access_play.h"
#include "policies/ghost_list.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class TwoQueuePolicy final : public Policy {
 public:
  static constexpr double kDefaultInPercent = 25;
  static constexpr double kDefaultOutPercent = 50;

  // Keys: in and out (units, or percent of the slots).
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  TwoQueuePolicy(const PolicyOptions& options, uint64_t in, uint64_t out);

  std::string_view name() const override { return "2q"; }
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
  RecencyList in_;    // the FIFO queue
  RecencyList main_;  // the LRU list
  GhostList out_;
  std::vector<uint8_t> returning_;  // by unit: a touch found it remembered
  uint64_t in_share_;
  UnitIndex chosen_ = kNoUnit;  // the last victim, until it is erased
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_TWO_QUEUE_H_
