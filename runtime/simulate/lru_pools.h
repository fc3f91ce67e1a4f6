// Least recently used, in pools, as an engine has it that protects nothing: not even what the step
// at hand still needs.
#ifndef BERTH_RUNTIME_SIMULATE_LRU_POOLS_H_
#define BERTH_RUNTIME_SIMULATE_LRU_POOLS_H_

#include <cstdint>
#include <vector>

#include "berth/types.h"
#include "policies/recency_list.h"
#include "scheduler/geometry.h"

namespace berth {

class LruPools {
 public:
  // One pool for each size class, or one for each layer with an equal part of its class.
  LruPools(const scheduler::Geometry& geometry, const std::vector<uint32_t>& class_slots,
           bool per_layer);

  bool Has(UnitIndex unit) const { return PoolOf(unit).order.Contains(unit % range_); }
  void Touch(UnitIndex unit) { PoolOf(unit).order.MoveToNewest(unit % range_); }
  // Puts the unit in, the least recently used one of its pool out. True where one left; nothing
  // comes in where the pool has no slot.
  bool Insert(UnitIndex unit);

 private:
  struct Pool {
    uint32_t slots;
    policies::RecencyList order;
  };
  const Pool& PoolOf(UnitIndex unit) const { return pools_[pool_of_layer_[unit / experts_]]; }
  Pool& PoolOf(UnitIndex unit) { return pools_[pool_of_layer_[unit / experts_]]; }

  const uint32_t experts_;
  const uint32_t range_;  // a pool numbers its units by the remainder: all, or those of a layer
  std::vector<uint32_t> pool_of_layer_;
  std::vector<Pool> pools_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_LRU_POOLS_H_
