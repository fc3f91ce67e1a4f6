// ClassLists: resident units in lists by (group, class), each list from its oldest unit to its
// newest, with a cursor per list that looks for victims.
//
// As in recency_list.h a cursor starts at the oldest unit of each step and only moves on: a unit
// that is not evictable is asked about once per step. Every call is O(1); cursors are reset where
// they are next looked at, so a new step costs nothing. No allocation after the constructor.
#ifndef BERTH_POLICIES_CLASS_LISTS_H_
#define BERTH_POLICIES_CLASS_LISTS_H_

#include <cstdint>
#include <vector>

#include "runtime/base/check.h"

namespace berth::policies {

class ClassLists {
 public:
  static constexpr uint32_t kMostClasses = 64;  // one bit each in occupied()
  static constexpr uint32_t kNone = UINT32_MAX;

  // Local unit numbers 0 to units - 1.
  ClassLists(uint32_t units, uint32_t groups, uint32_t classes)
      : units_(units),
        classes_(classes),
        links_(size_t{units} + size_t{groups} * classes),
        cursors_(size_t{groups} * classes),
        occupied_(groups, 0) {
    BERTH_CHECK(classes <= kMostClasses);
    for (uint32_t at = units; at < links_.size(); ++at) links_[at] = {at, at, at - units, 0};
  }

  bool Contains(uint32_t unit) const { return links_[unit].list != kNone; }
  // Bit c: the list of class c has units.
  uint64_t occupied(uint32_t group) const { return occupied_[group]; }
  // What was given with a resident unit: a clock that the owner keeps.
  uint32_t time(uint32_t unit) const { return links_[unit].time; }

  void PushNewest(uint32_t unit, uint32_t group, uint32_t klass, uint32_t time) {
    BERTH_CHECK_MSG(!Contains(unit), "a unit that is resident was inserted");
    const uint32_t list = group * classes_ + klass;
    const uint32_t end = units_ + list;
    const uint32_t newest = links_[end].older;
    links_[unit] = {newest, end, list, time};
    links_[newest].newer = unit;
    links_[end].older = unit;
    occupied_[group] |= uint64_t{1} << klass;
    // A cursor that has seen everything goes on with what came after.
    if (cursors_[list].unit == end) cursors_[list].unit = unit;
  }
  void Remove(uint32_t unit) {
    BERTH_CHECK_MSG(Contains(unit), "a unit that is not resident was erased or touched as such");
    const Link link = links_[unit];
    if (cursors_[link.list].unit == unit) cursors_[link.list].unit = link.newer;
    links_[link.older].newer = link.newer;
    links_[link.newer].older = link.older;
    links_[unit] = Link();
    if (link.newer == link.older && link.newer >= units_) {
      occupied_[link.list / classes_] &= ~(uint64_t{1} << link.list % classes_);
    }
  }

  void BeginStep() { ++step_; }
  // The oldest unit of the list that the step has not passed over; kNone if there is none.
  uint32_t Candidate(uint32_t group, uint32_t klass) {
    const uint32_t list = group * classes_ + klass;
    Cursor& cursor = cursors_[list];
    if (cursor.step != step_) cursor = {links_[units_ + list].newer, step_};
    return cursor.unit < units_ ? cursor.unit : kNone;
  }
  // Only after Candidate found a unit in this step.
  void PassOver(uint32_t group, uint32_t klass) {
    Cursor& cursor = cursors_[group * classes_ + klass];
    cursor.unit = links_[cursor.unit].newer;
  }

 private:
  struct Link {
    uint32_t older = kNone;
    uint32_t newer = kNone;
    uint32_t list = kNone;  // kNone: not resident
    uint32_t time = 0;
  };
  struct Cursor {
    uint32_t unit = kNone;  // or the end of the list
    uint32_t step = 0;      // the step that set it
  };

  uint32_t units_;
  uint32_t classes_;
  std::vector<Link> links_;  // of the units, then the end of each list's ring
  std::vector<Cursor> cursors_;
  std::vector<uint64_t> occupied_;
  uint32_t step_ = 1;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_CLASS_LISTS_H_
