// Belady (IBM Systems Journal, 1966): the unit that is used again last leaves first. It needs the
// future (PolicyOptions::next_use), so it serves as the bound that others are measured against.
//
// admit=bypass: a unit that is used again later than everything that could leave for it passes
// through; of a step's missing units those with the nearest uses come in. No policy has fewer
// misses in a pool that can hold each of its steps. admit=always: everything comes in, as in
// simulators of caches that cannot do without.
//
// O(1) a call (next_use_queue.h), a step's plan O(m log m) in its misses.
#ifndef BERTH_POLICIES_BELADY_H_
#define BERTH_POLICIES_BELADY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/access_play.h"
#include "policies/next_use_queue.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/unit_range.h"

namespace berth::policies {

class BeladyPolicy final : public Policy {
 public:
  // Keys: admit (bypass or always). Without next uses: InvalidArgument.
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  BeladyPolicy(const PolicyOptions& options, bool bypass);

  std::string_view name() const override { return "belady"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex unit) override;
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Nothing: it knows the future, and learns nothing from the past.
  void Learned(std::span<double> heat) const override;

 private:
  enum class State : uint8_t {
    kAbsent,
    kMissing,   // touched by this step
    kAdmitted,  // the same, and this step's plan lets it in
    kQueued,
    kWaiting,  // resident; may not leave before the next step, which puts it into the queue
  };

  void Wait(uint32_t unit, uint64_t next_use);
  void PlanStep();

  UnitRange range_;
  std::span<const uint64_t> next_use_;
  NextUseQueue queue_;
  std::vector<State> states_;      // by unit
  std::vector<uint32_t> waiting_;  // some may have left
  std::vector<uint32_t> missing_;  // likewise, in the order of their touches
  std::vector<uint32_t> leaving_;  // room for the plan
  uint32_t slots_;
  uint32_t members_ = 0;
  bool bypass_;
  bool planned_ = false;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_BELADY_H_
