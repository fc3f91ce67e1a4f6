// One seed of the fault driver, from a random machine to a verdict.
//
//   machine, faults, script <- seed
//   play: every promise is checked with every event
//   heal: faults stop; then every unit of the model must be served
//   where all faults were cured below the core: the same script again, in another order, on another
//   drive and without a fault, must have led to the same decisions
#ifndef BERTH_TESTS_SCHEDULER_FAULT_SEED_H_
#define BERTH_TESTS_SCHEDULER_FAULT_SEED_H_

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/scheduler/faults.h"

namespace berth::scheduler {

// Sums over seeds.
struct SeedTotals {
  uint64_t seeds = 0;
  uint64_t compared = 0;  // played twice
  uint64_t closed = 0;
  uint64_t steps = 0;
  uint64_t failed_steps = 0;
  uint64_t host_computed = 0;  // units
  uint64_t behind_loads = 0;
  uint64_t flips_found = 0;     // by checksums
  uint64_t carrying_steps = 0;  // done with a wrong bit, where there are none
  std::array<uint64_t, kFaultKinds> faults = {};
};

// Empty, or the promise that was broken. Adds to `totals`.
std::string RunFaultSeed(uint64_t seed, SeedTotals* totals);

// The machine and the last events of the seed that is running or ran last, for the report of a
// failure; also from a handler of SIGABRT, where a check inside the core failed.
void DescribeLastSeed(std::FILE* out);
// The promise that the driver saw broken before such a check; empty if it saw none.
std::string LastSeedError();

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_FAULT_SEED_H_
