// What policies without counts have learned: the order in which their units would leave.
#ifndef BERTH_POLICIES_LEAVING_ORDER_H_
#define BERTH_POLICIES_LEAVING_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "policies/access_play.h"
#include "policies/policy.h"
#include "policies/unit_range.h"
#include "runtime/base/check.h"

namespace berth::policies {

// Ranks of the resident units, 1 for the one that would leave first if nothing were used any more;
// 0 for the others. Lets a copy of the policy choose one victim after the other.
template <typename P>
void RankByLeaving(const P& policy, const UnitRange& range, std::span<double> heat) {
  BERTH_CHECK(heat.size() == range.units());
  std::fill(heat.begin(), heat.end(), 0.0);
  P copy(policy);
  copy.BeginStep(0);
  double rank = 0;
  for (UnitIndex unit; (unit = copy.NextVictim(Anyone())) != kNoUnit;) {
    heat[range.Local(unit)] = ++rank;
    copy.Erased(unit);
  }
}

}  // namespace berth::policies

#endif  // BERTH_POLICIES_LEAVING_ORDER_H_
