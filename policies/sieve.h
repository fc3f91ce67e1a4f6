// SIEVE (Zhang et al., NSDI 2024): a FIFO queue in which nothing moves, and a hand that sweeps from
// the oldest unit to the newest and starts over.
//
// A use marks a unit. The hand takes the mark of every marked unit that it passes, and the first
// unmarked one leaves; the hand stays where that one was. A unit that is not evictable is passed
// over, marked or not.
//
// A step asks about each unit once. The hand's way is amortized over the marks that it takes, and
// at most a few rounds of it per step lead past units that may not leave.
#ifndef BERTH_POLICIES_SIEVE_H_
#define BERTH_POLICIES_SIEVE_H_

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

class SievePolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  explicit SievePolicy(const PolicyOptions& options);

  std::string_view name() const override { return "sieve"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Ranks in the order of leaving.
  void Learned(std::span<double> heat) const override;

 private:
  bool MayLeave(uint32_t unit, const Evictable& evictable);

  UnitRange range_;
  RecencyList queue_;              // the resident units in the order in which they came in
  std::vector<uint8_t> marked_;    // by unit
  std::vector<uint64_t> refused_;  // by unit: the last step that found it not evictable
  uint64_t step_ = 1;
  uint32_t hand_;           // the next unit to look at; the queue's end: the oldest
  bool exhausted_ = false;  // the step found no victim, and no unit has come in since
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_SIEVE_H_
