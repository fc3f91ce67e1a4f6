#include "runtime/simulate/lru_pools.h"

#include <algorithm>

#include "runtime/base/quota.h"

namespace berth {

LruPools::LruPools(const scheduler::Geometry& geometry, const std::vector<uint32_t>& class_slots,
                   bool per_layer)
    : experts_(geometry.experts), range_(per_layer ? geometry.experts : geometry.units()) {
  const std::vector<uint32_t>& classes = geometry.layer_class;
  std::vector<uint32_t> seen(geometry.size_classes, 0);
  if (!per_layer) {
    pool_of_layer_ = classes;
    for (const uint32_t slots : class_slots)
      pools_.push_back({slots, policies::RecencyList(range_)});
    return;
  }
  for (uint32_t l = 0; l < geometry.layers; ++l) {
    const uint32_t c = classes[l];
    const uint32_t layers = static_cast<uint32_t>(std::count(classes.begin(), classes.end(), c));
    const uint32_t quota = EqualQuota(class_slots[c], layers, seen[c]++);
    pool_of_layer_.push_back(l);
    pools_.push_back({quota, policies::RecencyList(range_)});
  }
}

bool LruPools::Insert(UnitIndex unit) {
  Pool& pool = PoolOf(unit);
  if (pool.slots == 0) return false;
  const bool full = pool.order.size() == pool.slots;
  if (full) pool.order.Remove(pool.order.Oldest());
  pool.order.PushNewest(unit % range_);
  return full;
}

}  // namespace berth
