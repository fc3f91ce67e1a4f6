// Playing single accesses, each a step of its own: the loop of cache simulators, compiled for the
// policy that it drives, so that an access costs no call.
#ifndef BERTH_POLICIES_ACCESS_PLAY_H_
#define BERTH_POLICIES_ACCESS_PLAY_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/types.h"
#include "policies/policy.h"
#include "runtime/base/check.h"

namespace berth::policies {

struct AccessRun {
  uint64_t pass = 0;
  std::span<const UnitIndex> units;
  std::span<const uint64_t> next_uses;  // of each of `units`, for policies that need the future
  bool always_admit = false;            // whatever Admit answers
};

// The slots of a pool, and what is counted; the spans are indexed by unit, from unit 0 on.
struct AccessSlots {
  uint32_t free = 0;
  uint64_t inserted = 0;
  std::span<uint8_t> resident;    // 0 or 1
  std::span<uint64_t> misses;     // added to
  std::span<uint64_t> next_uses;  // what PolicyOptions::next_use shows; empty: the policy has none
};

using AccessPlay = void (*)(Policy& policy, const AccessRun& run, AccessSlots* slots);

// The loop for the policy of a spec that MakePolicy accepts. Many have one of their own; others
// share one that calls them through the interface.
AccessPlay AccessPlayOf(std::string_view spec);

class Anyone final : public Evictable {
 public:
  bool operator()(UnitIndex) const override { return true; }
};

// While a victim is sought, nothing is in the step but a unit that has no slot: anyone may leave.
// Flattened: what a policy does for an access becomes part of the loop.
template <typename P>
[[gnu::flatten]] void PlayAccesses(P& policy, const AccessRun& run, AccessSlots* slots) {
  const Anyone anyone;
  const bool future = !slots->next_uses.empty();
  uint8_t* const resident = slots->resident.data();
  uint32_t free = slots->free;
  uint64_t inserted = 0;
  for (size_t at = 0; at < run.units.size(); ++at) {
    const UnitIndex unit = run.units[at];
    if (future) slots->next_uses[unit] = run.next_uses[at];
    policy.BeginStep(run.pass);
    if (resident[unit]) {
      policy.Touched(unit, true, 1);
      continue;
    }
    policy.Touched(unit, false, 1);
    ++slots->misses[unit];
    if (!policy.Admit(unit) && !run.always_admit) continue;
    if (free > 0) {
      --free;
    } else {
      const UnitIndex victim = policy.NextVictim(anyone);
      if (victim == kNoUnit) continue;
      BERTH_CHECK_MSG(resident[victim], "a policy chose a victim that is not resident");
      policy.Erased(victim);
      resident[victim] = 0;
    }
    policy.Inserted(unit);
    resident[unit] = 1;
    ++inserted;
  }
  slots->free = free;
  slots->inserted += inserted;
}

}  // namespace berth::policies

#endif  // BERTH_POLICIES_ACCESS_PLAY_H_
