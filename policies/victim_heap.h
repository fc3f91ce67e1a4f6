// VictimHeap: the resident units as an indexed binary heap, the next victim on top.
//
// Units that NextVictim finds not evictable are parked: they leave the heap and come back at the
// next BeginStep, since they cannot become evictable before. So a unit is asked about once per
// step, and a step of m units costs O(m log n) whatever the order of their keys.
//
// One array holds both: the heap first, the parked ones behind it. No allocation after the
// constructor.
#ifndef BERTH_POLICIES_VICTIM_HEAP_H_
#define BERTH_POLICIES_VICTIM_HEAP_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "berth/types.h"
#include "policies/policy.h"
#include "policies/unit_range.h"
#include "runtime/base/check.h"

namespace berth::policies {

// `Before` is a strict total order over local unit numbers: before(a, b) if a leaves before b.
template <typename Before>
class VictimHeap {
 public:
  // Local numbers 0 to units - 1.
  VictimHeap(uint32_t units, Before before)
      : units_(units), place_(units, kAbsent), before_(std::move(before)) {}

  bool Contains(uint32_t unit) const { return place_[unit] != kAbsent; }

  void Insert(uint32_t unit) {
    BERTH_CHECK_MSG(!Contains(unit), "a unit that is resident was inserted");
    Put(members_, unit);
    Swap(members_++, heap_);
    SiftUp(heap_++);
  }

  void Remove(uint32_t unit) {
    BERTH_CHECK_MSG(Contains(unit), "a unit that is not resident was erased");
    if (place_[unit] < heap_) Park(place_[unit]);
    Swap(place_[unit], --members_);
    place_[unit] = kAbsent;
  }

  // The key of `unit` has moved it away from the top.
  void MovedBack(uint32_t unit) {
    BERTH_CHECK_MSG(Contains(unit), "a unit that is not resident was touched as resident");
    if (place_[unit] < heap_) SiftDown(place_[unit]);
  }

  void BeginStep() {
    while (heap_ < members_) SiftUp(heap_++);
  }

  // As BeginStep, where keys have changed in any way. O(members).
  void Rebuild() {
    heap_ = members_;
    for (uint32_t at = heap_ / 2; at-- > 0;) SiftDown(at);
  }

  // The first evictable unit, as a number of `range`; kNoUnit if there is none.
  UnitIndex NextVictim(const Evictable& evictable, const UnitRange& range) {
    while (heap_ > 0) {
      const UnitIndex unit = range.Global(units_[0]);
      if (evictable(unit)) return unit;
      Park(0);
    }
    return kNoUnit;
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  void Put(uint32_t at, uint32_t unit) {
    units_[at] = unit;
    place_[unit] = at;
  }
  void Swap(uint32_t a, uint32_t b) {
    const uint32_t unit = units_[a];
    Put(a, units_[b]);
    Put(b, unit);
  }
  // Moves the heap's element at `at` to the front of the parked ones.
  void Park(uint32_t at) {
    Swap(at, --heap_);
    if (at == heap_) return;
    SiftDown(at);
    SiftUp(at);
  }
  void SiftUp(uint32_t at) {
    const uint32_t unit = units_[at];
    while (at > 0) {
      const uint32_t parent = (at - 1) / 2;
      if (!before_(unit, units_[parent])) break;
      Put(at, units_[parent]);
      at = parent;
    }
    Put(at, unit);
  }
  void SiftDown(uint32_t at) {
    const uint32_t unit = units_[at];
    // `units` is far below 2^31 (the registry's bound), so 2 * at + 2 does not wrap.
    for (uint32_t child = 2 * at + 1; child < heap_; child = 2 * at + 1) {
      if (child + 1 < heap_ && before_(units_[child + 1], units_[child])) ++child;
      if (!before_(units_[child], unit)) break;
      Put(at, units_[child]);
      at = child;
    }
    Put(at, unit);
  }

  std::vector<uint32_t> units_;  // [0, heap_) the heap, [heap_, members_) the parked ones
  std::vector<uint32_t> place_;  // of each unit in units_
  uint32_t heap_ = 0;
  uint32_t members_ = 0;
  Before before_;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_VICTIM_HEAP_H_
