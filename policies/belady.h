// Belady (IBM Systems Journal, 1966): the unit that is used again last leaves first. It needs the
// future (PolicyOptions::next_use), so it serves as the bound that others are measured against.
//
// admit=bypass: a unit that is used again later than everything that could leave for it passes
// through; of a step's missing units those with the nearest uses come in. No policy has fewer
// misses in a pool that can hold each of its steps. admit=always: everything comes in, as in
// simulators of caches that cannot do without.
//
// The heap is lazy: a use pushes the unit with its new key and leaves the old entry where it is.
// Keys of old entries lie in the past, below those of all units that are resident, so they gather
// at the bottom and are swept out when they are half of the heap. O(log n) a call, amortized; a use
// seldom climbs far.
#ifndef BERTH_POLICIES_BELADY_H_
#define BERTH_POLICIES_BELADY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/params.h"
#include "policies/policy.h"
#include "policies/unit_range.h"

namespace berth::policies {

class BeladyPolicy final : public Policy {
 public:
  // Next uses are kNeverUsed or at most this.
  static constexpr uint64_t kMostSteps = (uint64_t{1} << 40) - 3;

  // Keys: admit (bypass or always). Without next uses: InvalidArgument.
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);

  BeladyPolicy(const PolicyOptions& options, bool bypass);

  std::string_view name() const override { return "belady"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident) override;
  bool Admit(UnitIndex unit) override;
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;

 private:
  // The next use above, the unit below; larger keys leave first. Never 0.
  using Key = uint64_t;
  static constexpr uint32_t kUnitBits = 24;
  static constexpr Key kNotResident = 0;
  struct Unit {
    Key key = kNotResident;
    uint64_t touched = 0;   // the last step that did
    uint64_t admitted = 0;  // the last step whose plan lets it in
  };

  Key KeyOf(uint32_t unit) const;
  static uint32_t UnitOf(Key key) { return key & ((uint32_t{1} << kUnitBits) - 1); }
  void Push(Key key);
  void PopTop();
  void SweepOut();
  // Brings a resident unit to the top that the step has not touched; false if there is none.
  bool FindTop();
  void PlanStep();

  UnitRange range_;
  std::span<const uint64_t> next_use_;
  uint32_t slots_;
  bool bypass_;
  uint32_t members_ = 0;
  std::vector<Unit> units_;
  std::vector<Key> heap_;
  std::vector<Key> aside_;  // entries that may not leave in this step
  uint64_t step_ = 0;
  std::vector<uint32_t> missing_;  // of this step, in the order of their touches
  bool planned_ = false;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_BELADY_H_
