// GhostList: units that left not long ago, remembered without a slot. When it is full, the one that
// left first is forgotten. Every call is O(1).
#ifndef BERTH_POLICIES_GHOST_LIST_H_
#define BERTH_POLICIES_GHOST_LIST_H_

#include <cstdint>

#include "policies/recency_list.h"

namespace berth::policies {

class GhostList {
 public:
  // Local numbers 0 to units - 1; all memory is taken here. A capacity of 0 remembers nothing.
  GhostList(uint32_t units, uint64_t capacity) : units_(units), capacity_(capacity) {}

  bool Contains(uint32_t unit) const { return units_.Contains(unit); }
  uint32_t size() const { return units_.size(); }

  void Push(uint32_t unit) {
    if (capacity_ == 0) return;
    if (units_.size() >= capacity_) ForgetOldest();
    units_.PushNewest(unit);
  }
  // True if the unit was remembered; it is not any more.
  bool Take(uint32_t unit) {
    if (!Contains(unit)) return false;
    units_.Remove(unit);
    return true;
  }
  void ForgetOldest() { units_.Remove(units_.Oldest()); }

 private:
  RecencyList units_;
  uint64_t capacity_;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_GHOST_LIST_H_
