// ScriptFuture: what a driver tells policies that need the future while it plays a script: when a
// later step of the script routes to a unit, whatever becomes of that step.
#ifndef BERTH_TESTS_SCHEDULER_SCRIPT_FUTURE_H_
#define BERTH_TESTS_SCHEDULER_SCRIPT_FUTURE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tests/scheduler/scenario.h"

namespace berth::scheduler {

class ScriptFuture {
 public:
  // Puts the first uses into `next_use`, [units].
  ScriptFuture(const CoreOptions& options, const std::vector<Action>& script,
               std::span<uint64_t> next_use);
  // Before the script's action `at`, a step, is submitted.
  void BeginStep(size_t at, std::span<uint64_t> next_use) const;

 private:
  std::vector<std::vector<std::pair<UnitIndex, uint64_t>>>
      after_;  // [actions] next uses from it on
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_SCRIPT_FUTURE_H_
