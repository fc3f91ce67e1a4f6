// Warm starts: what is loaded before the first step, in which order, and what it counts as.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/scheduler/by_hand.h"
#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

TEST(CoreWarmTest, TheHottestComeInAndTheHottestLast) {
  CoreOptions options = SmallMachine(2, 4, 1, 3);
  options.heat = {0, 5, 1, 3, /**/ 3, 9, 0, 2};
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(options).ok());
  // Of the two with heat 3 the lower index is the hotter.
  EXPECT_EQ(driver.core().WarmUnits(), (std::vector<UnitIndex>{3, 1, 5}));
  WarmUp(&driver);
  EXPECT_EQ(Resident(driver, 3) + Resident(driver, 1) + Resident(driver, 5), 3u);
  const Counters& c = driver.core().counters();
  EXPECT_EQ(c.cards[0].warm_loads, 3u);
  EXPECT_EQ(c.cards[0].inserted, 3u);
  EXPECT_EQ(c.cards[0].bytes_h2d_warm, 300u);
  EXPECT_EQ(c.cards[0].bytes_h2d_demand, 0u);
  EXPECT_EQ(c.storage.units_warm, 3u);
  EXPECT_EQ(c.storage.bytes_warm, 300u);
  EXPECT_EQ(c.storage.bytes_alignment, 84u);
  EXPECT_EQ(c.steps + c.passes + c.cards[0].requests + c.storage.units_demand, 0u);
  // The coldest of them is the first to leave, the hottest the last.
  ASSERT_TRUE(driver.Step(0, {0}).ok());
  EXPECT_FALSE(Resident(driver, 3));
  ASSERT_TRUE(driver.Step(0, {2}).ok());
  EXPECT_FALSE(Resident(driver, 1));
  EXPECT_TRUE(Resident(driver, 5));
  ExpectClean(&driver);
}

TEST(CoreWarmTest, FillsTheHostTierWithTheNextHottest) {
  for (const bool exclusive : {false, true}) {
    SCOPED_TRACE(exclusive ? "exclusive" : "inclusive");
    CoreOptions options = SmallMachine(1, 10, 1, 3);
    options.heat = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    options.host_class_slots = {5};
    options.host_exclusive = exclusive;
    FakeDriver driver(DriverOptions{});
    ASSERT_TRUE(driver.Open(options).ok());
    // An inclusive one has the arena's three as well.
    EXPECT_EQ(driver.core().WarmUnits(), exclusive
                                             ? (std::vector<UnitIndex>{2, 1, 0, 7, 6, 5, 4, 3})
                                             : (std::vector<UnitIndex>{2, 1, 0, 4, 3}));
    WarmUp(&driver);
    const UnitIndex last = exclusive ? 7 : 4;
    for (UnitIndex u = 0; u < 10; ++u) EXPECT_EQ(driver.core().Holds(u), u <= last) << u;
    const Counters& c = driver.core().counters();
    EXPECT_EQ(c.cards[0].warm_loads, 3u);
    EXPECT_EQ(c.host.warm_loads, exclusive ? 5u : 2u);
    EXPECT_EQ(c.host.evicted, 0u);
    EXPECT_EQ(c.storage.units_warm, last + 1u);
    // What is there needs no read.
    ASSERT_TRUE(driver.Step(0, {static_cast<int32_t>(last)}).ok());
    EXPECT_EQ(c.host.hits, 1u);
    EXPECT_EQ(c.storage.units_demand, 0u);
    ExpectClean(&driver);
  }
}

TEST(CoreWarmTest, FillsWhatIsEmptyAndNothingElse) {
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(SmallMachine(1, 8, 1, 3)).ok());
  EXPECT_TRUE(driver.core().WarmUnits().empty());  // no heat is known
  ASSERT_TRUE(driver.core().SubmitWarm(std::vector<UnitIndex>{1, 1, 2}).ok());
  ASSERT_TRUE(driver.core().SubmitWarm(std::vector<UnitIndex>{2, 3, 4}).ok());
  EXPECT_EQ(Resident(driver, 1, 3), 3u);
  EXPECT_FALSE(Resident(driver, 4));
  EXPECT_EQ(driver.core().counters().cards[0].warm_loads, 3u);
  EXPECT_EQ(driver.core().counters().cards[0].evicted, 0u);
  ExpectClean(&driver);
}

TEST(CoreWarmTest, OnlyBeforeTheFirstStep) {
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(SmallMachine(1, 8, 1, 3)).ok());
  Core& core = driver.core();
  EXPECT_EQ(core.SubmitWarm(std::vector<UnitIndex>{8}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(core.SubmitWarm(std::vector<UnitIndex>(core.warm_batch() + 1, 0)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(core.counters().cards[0].warm_loads, 0u);
  ASSERT_TRUE(driver.Step(0, {0}).ok());
  EXPECT_EQ(core.SubmitWarm(std::vector<UnitIndex>{1}).code(), StatusCode::kFailedPrecondition);
  ExpectClean(&driver);
}

TEST(CoreWarmTest, AUnitThatCannotBeReadIsNotThere) {
  CoreOptions options = SmallMachine(1, 8, 1, 4);
  options.heat = {8, 7, 6, 5, 4, 3, 2, 1};
  DriverOptions broken;
  broken.faults.broken_units = {2};
  FakeDriver driver(broken);
  ASSERT_TRUE(driver.Open(options).ok());
  WarmUp(&driver);
  EXPECT_FALSE(Resident(driver, 2));
  EXPECT_EQ(Resident(driver, 0) + Resident(driver, 1) + Resident(driver, 3), 3u);
  EXPECT_EQ(driver.core().counters().failed_reads, 1u);
  // Its slot serves the next unit that comes.
  ASSERT_TRUE(driver.Step(0, {7}).ok());
  EXPECT_EQ(driver.core().counters().cards[0].evicted, 0u);
  ExpectClean(&driver, /*exact=*/false);
}

// On any machine: the static policy's set is what comes in, whatever order answers have; and the
// steps after it decide the same.
TEST(CoreWarmTest, DecidedByTheHeatAlone) {
  uint64_t loaded = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CoreOptions machine = RandomMachine(seed);
    machine.policy = seed % 2 == 0 ? "static" : machine.policy;
    machine.heat.clear();
    for (UnitIndex u = 0; u < machine.geometry.units(); ++u) {
      machine.heat.push_back(static_cast<double>((u * 7919 + seed) % 11));
    }
    const std::vector<Action> script = RandomScript(seed, machine, {.actions = 40});
    uint64_t decisions = 0;
    for (const auto order : {DriverOptions::Order::kInOrder, DriverOptions::Order::kReversed,
                             DriverOptions::Order::kRandom}) {
      DriverOptions driver_options;
      driver_options.seed = seed;
      driver_options.order = order;
      FakeDriver driver(driver_options);
      ASSERT_TRUE(driver.Open(machine).ok());
      WarmUp(&driver);
      for (const UnitIndex unit : driver.core().WarmUnits()) {
        ASSERT_TRUE(driver.core().Holds(unit));
        ++loaded;
      }
      ExpectClean(&driver);
      if (machine.policy == "static") {
        // What the profile knows and did not bring may not come in later either.
        for (UnitIndex u = 0; u < machine.geometry.units(); ++u) {
          if (machine.heat[u] == 0 || Resident(driver, u)) continue;
          std::vector<int32_t> ids(machine.geometry.top_k, kNoExpert);
          ids[0] = static_cast<int32_t>(u % machine.geometry.experts);
          ASSERT_TRUE(driver.Step(machine.geometry.layer_of(u), ids).ok());
          driver.AnswerAll();
          ASSERT_FALSE(Resident(driver, u));
          ++refused;
        }
      }
      Play(&driver, script, seed, 5);
      ExpectClean(&driver);
      if (decisions == 0) decisions = driver.core().counters().decisions;
      ASSERT_EQ(driver.core().counters().decisions, decisions);
    }
  }
  EXPECT_GT(loaded, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace berth::scheduler
