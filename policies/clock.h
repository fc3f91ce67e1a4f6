// CLOCK: FIFO in which every use since the last look is a second chance.
//
// Each unit has a counter of `bits` bits, 0 when it comes in; a use raises it up to its maximum.
// The hand looks at the oldest unit: where the counter is above 0 it lowers it and the unit goes to
// the end of the queue, else the unit leaves. A unit at 0 that is not evictable keeps its place,
// and the hand goes on behind it.
//
// One call may pass over many units, but each pass costs a use that was counted before: O(1)
// amortized over the touches.
#ifndef BERTH_POLICIES_CLOCK_H_
#define BERTH_POLICIES_CLOCK_H_

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

class ClockPolicy final : public Policy {
 public:
  static constexpr uint64_t kDefaultBits = 1;
  static constexpr uint64_t kMaxBits = 8;

  // Keys: bits (of the counter).
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  ClockPolicy(const PolicyOptions& options, uint64_t bits);

  std::string_view name() const override { return "clock"; }
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
  RecencyList queue_;             // the resident units, the hand's next first
  std::vector<uint8_t> chances_;  // by unit
  uint8_t most_chances_;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_CLOCK_H_
