#include "runtime/simulate/lru_pools.h"

#include <algorithm>

namespace berth {

LruPools::LruPools(const scheduler::Geometry& geometry, const std::vector<uint32_t>& class_slots,
                   bool per_layer)
    : experts_(geometry.experts), links_(geometry.units()), resident_(geometry.units()) {
  const std::vector<uint32_t>& classes = geometry.layer_class;
  std::vector<uint32_t> seen(geometry.size_classes, 0);
  if (!per_layer) {
    pool_of_layer_ = classes;
    for (const uint32_t slots : class_slots) pools_.push_back({slots, 0});
    return;
  }
  for (uint32_t l = 0; l < geometry.layers; ++l) {
    const uint32_t c = classes[l];
    const uint32_t layers = static_cast<uint32_t>(std::count(classes.begin(), classes.end(), c));
    // As equal as they can be; the first layers get the remainder.
    const uint32_t more = seen[c]++ < class_slots[c] % layers ? 1 : 0;
    pool_of_layer_.push_back(l);
    pools_.push_back({class_slots[c] / layers + more, 0});
  }
}

void LruPools::Touch(UnitIndex unit) {
  Unlink(unit);
  LinkLast(unit);
}

bool LruPools::Insert(UnitIndex unit) {
  Pool& pool = PoolOf(unit);
  if (pool.slots == 0) return false;
  const bool full = pool.used == pool.slots;
  if (full) {
    const UnitIndex victim = pool.first;
    Unlink(victim);
    resident_[victim] = false;
  } else {
    ++pool.used;
  }
  resident_[unit] = true;
  LinkLast(unit);
  return full;
}

void LruPools::Unlink(UnitIndex unit) {
  Pool& pool = PoolOf(unit);
  const Links& at = links_[unit];
  (at.previous == kNoUnit ? pool.first : links_[at.previous].next) = at.next;
  (at.next == kNoUnit ? pool.last : links_[at.next].previous) = at.previous;
}

void LruPools::LinkLast(UnitIndex unit) {
  Pool& pool = PoolOf(unit);
  links_[unit] = {pool.last, kNoUnit};
  (pool.last == kNoUnit ? pool.first : links_[pool.last].next) = unit;
  pool.last = unit;
}

}  // namespace berth
