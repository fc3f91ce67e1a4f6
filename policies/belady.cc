#include "policies/belady.h"

#include <algorithm>
#include <functional>

#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> BeladyPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const size_t admit, params.Choice("admit", {"bypass", "always"}));
  BERTH_RETURN_IF_ERROR(params.Finish());
  if (options.next_use.empty()) {
    return InvalidArgumentError(
        "policy 'belady' needs to know the future, which only a trace that is counted has: choose "
        "another policy");
  }
  return std::unique_ptr<Policy>(new BeladyPolicy(options, /*bypass=*/admit == 0));
}

BeladyPolicy::BeladyPolicy(const PolicyOptions& options, bool bypass)
    : range_(options),
      next_use_(options.next_use),
      slots_(options.slots),
      bypass_(bypass),
      units_(options.units) {
  heap_.reserve(size_t{2} * options.units + 64);
  aside_.reserve(heap_.capacity());
  missing_.reserve(options.units);
}

BeladyPolicy::Key BeladyPolicy::KeyOf(uint32_t unit) const {
  const uint64_t next = next_use_[unit];
  BERTH_CHECK_MSG(next <= kMostSteps || next == kNeverUsed, "a next use beyond all steps");
  return (next == kNeverUsed ? kMostSteps + 2 : next + 1) << kUnitBits | unit;
}

void BeladyPolicy::BeginStep(uint64_t /*pass*/) {
  ++step_;
  for (const Key key : aside_) {
    if (units_[UnitOf(key)].key == key) Push(key);
  }
  aside_.clear();
  missing_.clear();
  planned_ = false;
}

void BeladyPolicy::Touched(UnitIndex unit, bool resident) {
  const uint32_t local = range_.Local(unit);
  units_[local].touched = step_;
  if (!resident) return missing_.push_back(local);
  BERTH_CHECK_MSG(units_[local].key != kNotResident,
                  "a unit that is not resident was touched as such");
  const Key key = KeyOf(local);
  if (units_[local].key == key) return;
  units_[local].key = key;
  Push(key);
}

bool BeladyPolicy::Admit(UnitIndex unit) {
  if (!bypass_) return true;
  const uint32_t local = range_.Local(unit);
  if (missing_.size() > 1) {
    if (!planned_) PlanStep();
    if (units_[local].touched == step_) return units_[local].admitted == step_;
  }
  return members_ < slots_ || (FindTop() && KeyOf(local) < heap_[0]);
}

// Of the missing units those with the nearest uses come in, each for the unit with the farthest
// one, as long as that is farther.
void BeladyPolicy::PlanStep() {
  planned_ = true;
  std::sort(missing_.begin(), missing_.end(),
            [this](uint32_t a, uint32_t b) { return KeyOf(a) < KeyOf(b); });
  uint32_t free = slots_ > members_ ? slots_ - members_ : 0;
  const size_t kept = aside_.size();
  for (const uint32_t unit : missing_) {
    if (free > 0) {
      --free;
    } else {
      if (!FindTop() || KeyOf(unit) >= heap_[0]) break;
      aside_.push_back(heap_[0]);
      PopTop();
    }
    units_[unit].admitted = step_;
  }
  // Units that were touched went aside as well, and may stay there.
  for (size_t at = kept; at < aside_.size();) {
    const Key key = aside_[at];
    if (units_[UnitOf(key)].touched == step_) {
      ++at;
      continue;
    }
    aside_[at] = aside_.back();
    aside_.pop_back();
    Push(key);
  }
}

void BeladyPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(units_[local].key == kNotResident, "a unit that is resident was inserted");
  units_[local].key = KeyOf(local);
  ++members_;
  Push(units_[local].key);
}

void BeladyPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(units_[local].key != kNotResident, "a unit that is not resident was erased");
  units_[local].key = kNotResident;
  --members_;
}

UnitIndex BeladyPolicy::NextVictim(const Evictable& evictable) {
  while (FindTop()) {
    const UnitIndex unit = range_.Global(UnitOf(heap_[0]));
    if (evictable(unit)) return unit;
    aside_.push_back(heap_[0]);
    PopTop();
  }
  return kNoUnit;
}

bool BeladyPolicy::FindTop() {
  while (!heap_.empty()) {
    const Key key = heap_[0];
    const Unit& unit = units_[UnitOf(key)];
    if (unit.key == key) {
      if (unit.touched != step_) return true;
      aside_.push_back(key);
    }
    PopTop();
  }
  return false;
}

void BeladyPolicy::Push(Key key) {
  if (heap_.size() >= size_t{2} * members_ + 64) SweepOut();
  heap_.push_back(key);
  std::push_heap(heap_.begin(), heap_.end());
}

void BeladyPolicy::PopTop() {
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
}

// Keeps one entry of each unit that is resident. Marks those that it has with the key that says
// that they are not, so that a second entry of a unit goes.
void BeladyPolicy::SweepOut() {
  const auto old = std::partition(heap_.begin(), heap_.end(), [this](Key key) {
    Unit& unit = units_[UnitOf(key)];
    if (unit.key != key) return false;
    unit.key = kNotResident;
    return true;
  });
  heap_.erase(old, heap_.end());
  for (const Key key : heap_) units_[UnitOf(key)].key = key;
  std::make_heap(heap_.begin(), heap_.end());
}

}  // namespace berth::policies
