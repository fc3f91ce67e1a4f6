// Least recently used, in pools, as an engine has it that protects nothing: not even what the step
// at hand still needs.
#ifndef BERTH_RUNTIME_SIMULATE_LRU_POOLS_H_
#define BERTH_RUNTIME_SIMULATE_LRU_POOLS_H_

#include <cstdint>
#include <vector>

#include "berth/types.h"
#include "scheduler/geometry.h"

namespace berth {

class LruPools {
 public:
  // One pool for each size class, or one for each layer with an equal part of its class.
  LruPools(const scheduler::Geometry& geometry, const std::vector<uint32_t>& class_slots,
           bool per_layer);

  bool Has(UnitIndex unit) const { return resident_[unit]; }
  void Touch(UnitIndex unit);
  // Puts the unit in, the least recently used one of its pool out. True where one left; nothing
  // comes in where the pool has no slot.
  bool Insert(UnitIndex unit);

 private:
  struct Links {
    UnitIndex previous = kNoUnit, next = kNoUnit;
  };
  struct Pool {
    uint32_t slots = 0, used = 0;
    UnitIndex first = kNoUnit, last = kNoUnit;  // least and most recently used
  };
  Pool& PoolOf(UnitIndex unit) { return pools_[pool_of_layer_[unit / experts_]]; }
  void Unlink(UnitIndex unit);
  void LinkLast(UnitIndex unit);

  const uint32_t experts_;
  std::vector<uint32_t> pool_of_layer_;
  std::vector<Pool> pools_;
  std::vector<Links> links_;
  std::vector<bool> resident_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_LRU_POOLS_H_
