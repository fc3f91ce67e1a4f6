// Tier: filled from a profile before anything was asked for, and what its policies learned.
#include <algorithm>

#include "runtime/base/check.h"
#include "scheduler/tier.h"

namespace berth::scheduler {

void Tier::BeginWarm(uint64_t pass) {
  sweep_step_ = false;
  for (Pool& pool : pools_) pool.policy->BeginStep(pass);
}

uint32_t Tier::TakeEmpty(UnitIndex unit) {
  const uint32_t pool_index = pool_of_layer_[unit / experts_];
  if (pool_index == kNone || pools_[pool_index].free.empty()) return kNone;
  return Place(unit, &pools_[pool_index]);
}

std::vector<UnitIndex> Tier::Hottest(std::span<const double> heat) const {
  BERTH_CHECK(heat.size() == slot_of_unit_.size());
  std::vector<UnitIndex> all;
  for (uint32_t p = 0; p < pools_.size(); ++p) {
    std::vector<UnitIndex> units;
    for (UnitIndex u = 0; u < heat.size(); ++u) {
      if (pool_of_layer_[u / experts_] == p && heat[u] > 0) units.push_back(u);
    }
    std::stable_sort(units.begin(), units.end(),
                     [heat](UnitIndex a, UnitIndex b) { return heat[a] > heat[b]; });
    if (units.size() > pools_[p].slots) units.resize(pools_[p].slots);
    all.insert(all.end(), units.begin(), units.end());
  }
  return all;
}

void Tier::Learned(std::span<double> heat) const {
  BERTH_CHECK(heat.size() == slot_of_unit_.size());
  std::fill(heat.begin(), heat.end(), 0);
  std::vector<double> range;
  for (uint32_t p = 0; p < pools_.size(); ++p) {
    const Pool& pool = pools_[p];
    range.assign(pool.range_units, 0);
    pool.policy->Learned(range);
    for (uint32_t u = 0; u < range.size(); ++u) {
      // Layers of other classes may lie between the pool's own.
      if (pool_of_layer_[(pool.first_unit + u) / experts_] == p) {
        heat[pool.first_unit + u] = range[u];
      }
    }
  }
}

}  // namespace berth::scheduler
