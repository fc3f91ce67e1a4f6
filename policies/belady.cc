#include "policies/belady.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> BeladyPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const size_t admit, params.Choice("admit", {"bypass", "always"}));
  BERTH_RETURN_IF_ERROR(params.Finish());
  if (options.next_use.empty()) {
    return InvalidArgumentError(
        "policy 'belady' needs to know the future: `berth simulate` and `berth curve` have it from "
        "the trace; for anything else choose another policy");
  }
  return std::unique_ptr<Policy>(new BeladyPolicy(options, /*bypass=*/admit == 0));
}

BeladyPolicy::BeladyPolicy(const PolicyOptions& options, bool bypass)
    : range_(options),
      next_use_(options.next_use),
      queue_(options.units),
      states_(options.units, State::kAbsent),
      slots_(options.slots),
      bypass_(bypass) {
  waiting_.reserve(size_t{2} * options.units);
  missing_.reserve(options.units);
  leaving_.reserve(options.units);
}

void BeladyPolicy::BeginStep(uint64_t /*pass*/) {
  for (const uint32_t unit : waiting_) {
    if (states_[unit] != State::kWaiting) continue;
    states_[unit] = State::kQueued;
    queue_.Add(unit, queue_.next_use(unit));
  }
  waiting_.clear();
  for (const uint32_t unit : missing_) {
    if (states_[unit] < State::kQueued) states_[unit] = State::kAbsent;
  }
  missing_.clear();
  planned_ = false;
}

void BeladyPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  if (!resident) {
    states_[local] = State::kMissing;
    missing_.push_back(local);
    return;
  }
  BERTH_CHECK_MSG(states_[local] >= State::kQueued,
                  "a unit that is not resident was touched as such");
  if (states_[local] == State::kWaiting) return;
  // The use that it was waiting for is this one.
  const uint64_t now = queue_.next_use(local);
  if (now != kNeverUsed && now != next_use_[local]) queue_.Advance(now);
  queue_.Remove(local);
  Wait(local, next_use_[local]);
}

// The next use is noted now: when the unit goes into the queue, the caller may be further on.
void BeladyPolicy::Wait(uint32_t unit, uint64_t next_use) {
  states_[unit] = State::kWaiting;
  queue_.set_next_use(unit, next_use);
  waiting_.push_back(unit);
}

bool BeladyPolicy::Admit(UnitIndex unit) {
  if (!bypass_) return true;
  const uint32_t local = range_.Local(unit);
  if (missing_.size() > 1) {
    if (!planned_) PlanStep();
    if (states_[local] != State::kAbsent) return states_[local] == State::kAdmitted;
  }
  if (members_ < slots_) return true;
  const uint32_t last = queue_.Last();
  return last != NextUseQueue::kNone && next_use_[local] < queue_.next_use(last);
}

// Of the missing units those with the nearest uses come in, each for the unit with the farthest
// one, as long as that is farther.
void BeladyPolicy::PlanStep() {
  planned_ = true;
  std::sort(missing_.begin(), missing_.end(), [this](uint32_t a, uint32_t b) {
    return next_use_[a] != next_use_[b] ? next_use_[a] < next_use_[b] : a < b;
  });
  uint32_t free = slots_ > members_ ? slots_ - members_ : 0;
  for (const uint32_t unit : missing_) {
    if (free > 0) {
      --free;
    } else {
      const uint32_t last = queue_.Last();
      if (last == NextUseQueue::kNone || next_use_[unit] >= queue_.next_use(last)) break;
      queue_.Remove(last);
      leaving_.push_back(last);
    }
    states_[unit] = State::kAdmitted;
  }
  for (const uint32_t unit : leaving_) queue_.Add(unit, queue_.next_use(unit));
  leaving_.clear();
}

void BeladyPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(states_[local] < State::kQueued, "a unit that is resident was inserted");
  ++members_;
  if (states_[local] != State::kAbsent) return Wait(local, next_use_[local]);
  // A prefetch brings units in that were not touched.
  states_[local] = State::kQueued;
  queue_.Add(local, next_use_[local]);
}

void BeladyPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(states_[local] >= State::kQueued, "a unit that is not resident was erased");
  if (states_[local] == State::kQueued) queue_.Remove(local);
  states_[local] = State::kAbsent;
  --members_;
}

UnitIndex BeladyPolicy::NextVictim(const Evictable& evictable) {
  for (uint32_t last = queue_.Last(); last != NextUseQueue::kNone; last = queue_.Last()) {
    if (evictable(range_.Global(last))) return range_.Global(last);
    queue_.Remove(last);
    Wait(last, queue_.next_use(last));
  }
  return kNoUnit;
}

void BeladyPolicy::Learned(std::span<double> heat) const {
  BERTH_CHECK(heat.size() == range_.units());
  std::fill(heat.begin(), heat.end(), 0.0);
}

void BeladyPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<BeladyPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
