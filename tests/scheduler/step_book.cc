#include "tests/scheduler/step_book.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace berth::scheduler {
namespace {

// The number behind `word` in the message; UINT64_MAX where there is none.
uint64_t NumberBehind(const std::string& message, const std::string& word) {
  const size_t at = message.find(word);
  if (at == message.npos) return UINT64_MAX;
  return std::strtoull(message.c_str() + at + word.size(), nullptr, 10);
}

}  // namespace

StepBook::StepBook(const Geometry& geometry, Promises* promises)
    : geometry_(geometry),
      promises_(promises),
      unit_failures_(geometry.units()),
      unit_flips_(geometry.units()) {}

uint64_t StepBook::Add(uint32_t layer, std::span<const int32_t> ids) {
  Step step;
  step.layer = layer;
  step.ids.assign(ids.begin(), ids.end());
  step.seen.resize(ids.size(), 0);
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

bool StepBook::RoutesTo(const Step& step, uint64_t unit) const {
  return std::any_of(step.ids.begin(), step.ids.end(), [&](int32_t id) {
    return id >= 0 && static_cast<uint64_t>(step.layer) * geometry_.experts + id == unit;
  });
}

void StepBook::BeginWave(const ComputeAction& action) {
  Step& step = steps_[action.cookie];
  promises_->Expect(!step.done, "a wave of a step that is done");
  promises_->Expect(action.layer == step.layer, "a wave of another layer");
  ++step.waves_running;
  for (const WaveUnit& unit : action.units) {
    for (uint32_t pair : action.pairs.subspan(unit.first_pair, unit.pair_count)) {
      promises_->Expect(
          pair < step.ids.size() && step.ids[pair] >= 0 &&
              step.layer * geometry_.experts + static_cast<uint32_t>(step.ids[pair]) == unit.unit,
          "a pair stands with unit ", unit.unit, ", which it does not route to");
      if (pair < step.seen.size()) ++step.seen[pair];
    }
  }
}

void StepBook::EndWave(const ComputeAction& action, std::span<const UnitIndex> flipped) {
  Step& step = steps_[action.cookie];
  --step.waves_running;
  for (UnitIndex unit : flipped) {
    step.carries = true;
    promises_->Expect(unit_flips_[unit] > 0 && RoutesTo(step, unit),
                      "a step carries a wrong bit of unit ", unit,
                      ", of which none was read or which it does not route to");
  }
}

void StepBook::Done(uint64_t cookie, const Status& status) {
  Step& step = steps_[cookie];
  promises_->Expect(!step.done, "a step is done twice");
  promises_->Expect(step.waves_running == 0, "a step is done while a wave of it runs");
  step.done = true;
  for (size_t p = 0; p < step.ids.size(); ++p) {
    const uint8_t expected = step.ids[p] == kNoExpert ? 0 : 1;
    promises_->Expect(status.ok() ? step.seen[p] == expected : step.seen[p] <= expected,
                      "a pair was not computed exactly once");
  }
  if (status.ok()) {
    carrying_ += step.carries ? 1 : 0;
    return;
  }
  ++failed_;
  CheckFailure(step, cookie, status);
}

// Every error that is injected, and every one that the core makes of one, names the unit it met,
// or the step whose wave it met.
void StepBook::CheckFailure(const Step& step, uint64_t cookie, const Status& status) {
  if (status.code() == StatusCode::kCancelled) {
    promises_->Expect(closed_, "a step was cancelled, and nobody closed");
    return;
  }
  promises_->Expect(cookie < healed_from_,
                    "a step failed after all faults had stopped: ", status.ToString());
  const std::string message(status.message());
  if (const uint64_t at = NumberBehind(message, "wave of step "); at != UINT64_MAX) {
    promises_->Expect(at == cookie && step.wave_failed,
                      "a step failed with the failure of another step's wave: ", message);
    return;
  }
  const uint64_t unit = NumberBehind(message, "unit ");
  promises_->Expect(RoutesTo(step, unit),
                    "a step failed with a unit that it does not need: ", message);
  // A slot whose table update failed takes no unit any more, whoever's update that was.
  promises_->Expect(message.find("a table update failed") != message.npos ||
                        (unit < unit_failures_.size() && unit_failures_[unit] > 0),
                    "a step failed with a unit that did not: ", message);
}

void StepBook::CheckAllDone() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    promises_->Expect(steps_[s].done, "step ", s, " is never done");
  }
}

}  // namespace berth::scheduler
