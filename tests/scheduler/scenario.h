// Random machines and random submissions for them. A script does not depend on the driver: the
// same seed gives the same submissions whatever order they are answered in.
#ifndef BERTH_TESTS_SCHEDULER_SCENARIO_H_
#define BERTH_TESTS_SCHEDULER_SCENARIO_H_

#include <cstdint>
#include <vector>

#include "scheduler/core.h"
#include "tests/scheduler/fake_driver.h"

namespace berth::scheduler {

// One size class, one extent of 100 bytes that is read as 128, on one card: where tests start.
CoreOptions SmallMachine(uint32_t layers, uint32_t experts, uint32_t top_k, uint32_t slots);

CoreOptions RandomMachine(uint64_t seed);

struct Action {
  enum class Kind : uint8_t { kStep, kHint, kLease, kRelease, kClose, kHeal };
  Kind kind = Kind::kStep;
  uint32_t layer = 0;
  uint64_t pass = 0;
  std::vector<int32_t> ids;
  std::vector<UnitIndex> units;
  uint32_t lease = 0;  // release: which of the script's leases
};

struct ScriptShape {
  uint32_t actions = 60;
  bool closes = false;  // at any moment
  bool heals = false;   // faults stop at any moment
};
std::vector<Action> RandomScript(uint64_t seed, const CoreOptions& options,
                                 const ScriptShape& shape);

// Fills the arenas from the machine's heat, batch by batch, and waits for each.
void WarmUp(FakeDriver* driver);

// Plays the script: answers some actions between submissions (up to `most`, by the pace's seed),
// all of them at the end, and releases every lease. Stops at the first broken promise.
void Play(FakeDriver* driver, const std::vector<Action>& script, uint64_t pace, uint32_t most);

// Steps that need every unit of the model once.
void PlayEveryUnit(FakeDriver* driver);

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_SCENARIO_H_
