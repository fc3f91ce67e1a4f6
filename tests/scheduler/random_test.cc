// Random machines, random submissions, random answers: the driver checks every promise.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

constexpr uint64_t kSeeds = 1500;
constexpr uint64_t kThoroughSeeds = 100000;

volatile uint64_t current_seed;
void SayWhichSeed(int) {
  std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(current_seed));
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

struct Faults {
  bool failures = false;
  bool closes = false;
};

void RunSeed(uint64_t seed, Faults faults) {
  current_seed = seed;
  const CoreOptions options = RandomMachine(seed);
  DriverOptions driver_options;
  driver_options.seed = seed;
  driver_options.order = static_cast<DriverOptions::Order>(seed % 5 < 3 ? 2 : seed % 5 - 3);
  if (faults.failures) {
    driver_options.read_failure = seed % 3 == 0 ? 0 : 0.05;
    driver_options.copy_failure = seed % 4 < 2 ? 0 : 0.03;
    driver_options.publish_failure = seed % 8 < 5 ? 0 : 0.03;
    driver_options.wave_failure = seed % 8 < 6 ? 0 : 0.05;
    if (seed % 2 == 0) {
      driver_options.broken_units = {static_cast<UnitIndex>(seed % options.geometry.units())};
    }
  }
  FakeDriver driver(driver_options);
  const Status opened = driver.Open(options);
  ASSERT_TRUE(opened.ok()) << "seed " << seed << ": " << opened.ToString();
  Play(&driver, RandomScript(seed, options, 60, faults.closes), seed + 1, seed % 7 * 4);
  driver.CheckQuiet(/*exact=*/driver.injected == 0 && !faults.closes);
  ASSERT_EQ(driver.error(), "") << "seed " << seed;
}

void RunSeeds(uint64_t seeds, Faults faults) {
  std::signal(SIGABRT, SayWhichSeed);
  for (uint64_t seed = 1; seed <= seeds && !testing::Test::HasFatalFailure(); ++seed) {
    RunSeed(seed, faults);
  }
  std::signal(SIGABRT, SIG_DFL);
}

TEST(CoreRandomTest, KeepsItsPromises) { RunSeeds(kSeeds, {}); }
TEST(CoreRandomTest, KeepsItsPromisesWhenTransfersFail) { RunSeeds(kSeeds, {true, false}); }
TEST(CoreRandomTest, KeepsItsPromisesWhenClosedInTheMiddle) { RunSeeds(kSeeds, {true, true}); }

// For longer hunts: --gtest_also_run_disabled_tests.
TEST(CoreRandomTest, DISABLED_Thorough) {
  RunSeeds(kThoroughSeeds, {});
  RunSeeds(kThoroughSeeds, {true, false});
  RunSeeds(kThoroughSeeds, {true, true});
}

}  // namespace
}  // namespace berth::scheduler
