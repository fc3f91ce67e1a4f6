// RecencyList: units from the oldest to the newest, linked through one array over the range, with
// the cursor that looks for victims.
//
// The cursor starts at the oldest unit of each step and only moves towards newer ones: a unit that
// is not evictable stays so until the next BeginStep, so it is asked about once per step, however
// many victims the step takes. Every call but Clear is O(1), NextVictim amortized over a step.
#ifndef BERTH_POLICIES_RECENCY_LIST_H_
#define BERTH_POLICIES_RECENCY_LIST_H_

#include <cstdint>
#include <vector>

#include "berth/types.h"
#include "policies/policy.h"
#include "policies/unit_range.h"
#include "runtime/base/check.h"

namespace berth::policies {

class RecencyList {
 public:
  // Local numbers 0 to units - 1; all memory is taken here.
  explicit RecencyList(uint32_t units) : links_(size_t{units} + 1), end_(units), cursor_(units) {
    links_[end_] = {end_, end_};
  }

  bool Contains(uint32_t unit) const { return links_[unit].older != kAbsent; }
  // Walking: for (u = Oldest(); u != End(); u = Newer(u)).
  uint32_t End() const { return end_; }
  uint32_t Oldest() const { return links_[end_].newer; }
  uint32_t Newer(uint32_t unit) const { return links_[unit].newer; }
  uint32_t size() const { return size_; }

  void PushNewest(uint32_t unit) {
    BERTH_CHECK_MSG(!Contains(unit), "a unit that is resident was inserted");
    const uint32_t newest = links_[end_].older;
    links_[unit] = {newest, end_};
    links_[newest].newer = unit;
    links_[end_].older = unit;
    ++size_;
    // A cursor that has seen everything goes on with what came after.
    if (cursor_ == end_) cursor_ = unit;
  }
  void Remove(uint32_t unit) {
    BERTH_CHECK_MSG(Contains(unit), "a unit that is not resident was erased or touched as such");
    const Link link = links_[unit];
    if (cursor_ == unit) cursor_ = link.newer;
    links_[link.older].newer = link.newer;
    links_[link.newer].older = link.older;
    links_[unit] = Link();
    --size_;
  }
  void MoveToNewest(uint32_t unit) {
    Remove(unit);
    PushNewest(unit);
  }
  // O(members).
  void Clear() {
    for (uint32_t unit = Oldest(); unit != end_;) {
      const uint32_t next = Newer(unit);
      links_[unit] = Link();
      unit = next;
    }
    links_[end_] = {end_, end_};
    cursor_ = end_;
    size_ = 0;
  }

  void BeginStep() { cursor_ = Oldest(); }
  // The search by hand, for policies that move units while they look: the oldest unit that the step
  // has not passed over, End() if there is none.
  uint32_t Candidate() const { return cursor_; }
  void PassOver() { cursor_ = Newer(cursor_); }
  // The oldest evictable unit, as a number of `range`; kNoUnit if there is none.
  UnitIndex NextVictim(const Evictable& evictable, const UnitRange& range) {
    for (; cursor_ != end_; PassOver()) {
      const UnitIndex unit = range.Global(cursor_);
      if (evictable(unit)) return unit;
    }
    return kNoUnit;
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  struct Link {
    uint32_t older = kAbsent;
    uint32_t newer = kAbsent;
  };

  std::vector<Link> links_;  // the last one is the ring's end
  uint32_t end_;
  uint32_t cursor_;  // everything older was found not evictable in this step
  uint32_t size_ = 0;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_RECENCY_LIST_H_
