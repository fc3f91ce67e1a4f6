// Warm starts: what is loaded before the first step, in which order, and what it counts as.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

bool Resident(FakeDriver& driver, UnitIndex unit) {
  return driver.core().Find(unit).slot != kNoSlot;
}

// As a driver does it: batch by batch.
void Warm(FakeDriver* driver) {
  const std::vector<UnitIndex> units = driver->core().WarmUnits();
  const size_t batch = driver->core().warm_batch();
  for (size_t at = 0; at < units.size(); at += batch) {
    const auto part = std::span(units).subspan(at, std::min(batch, units.size() - at));
    ASSERT_TRUE(driver->core().SubmitWarm(part).ok());
    driver->AnswerAll();
  }
}

void ExpectClean(FakeDriver* driver, bool exact = true) {
  driver->AnswerAll();
  driver->CheckQuiet(exact);
  EXPECT_EQ(driver->error(), "");
}

TEST(CoreWarmTest, TheHottestComeInAndTheHottestLast) {
  CoreOptions options = SmallMachine(2, 4, 1, 3);
  options.heat = {0, 5, 1, 3, /**/ 3, 9, 0, 2};
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(options).ok());
  // Of the two with heat 3 the lower index is the hotter.
  EXPECT_EQ(driver.core().WarmUnits(), (std::vector<UnitIndex>{3, 1, 5}));
  Warm(&driver);
  EXPECT_TRUE(Resident(driver, 3) && Resident(driver, 1) && Resident(driver, 5));
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

TEST(CoreWarmTest, FillsWhatIsEmptyAndNothingElse) {
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(SmallMachine(1, 8, 1, 3)).ok());
  EXPECT_TRUE(driver.core().WarmUnits().empty());  // no heat is known
  ASSERT_TRUE(driver.core().SubmitWarm(std::vector<UnitIndex>{1, 1, 2}).ok());
  ASSERT_TRUE(driver.core().SubmitWarm(std::vector<UnitIndex>{2, 3, 4}).ok());
  EXPECT_TRUE(Resident(driver, 1) && Resident(driver, 2) && Resident(driver, 3));
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
  broken.broken_units = {2};
  FakeDriver driver(broken);
  ASSERT_TRUE(driver.Open(options).ok());
  Warm(&driver);
  EXPECT_FALSE(Resident(driver, 2));
  EXPECT_TRUE(Resident(driver, 0) && Resident(driver, 1) && Resident(driver, 3));
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
    const std::vector<Action> script = RandomScript(seed, machine, 40, /*closes=*/false);
    uint64_t decisions = 0;
    for (const auto order : {DriverOptions::Order::kInOrder, DriverOptions::Order::kReversed,
                             DriverOptions::Order::kRandom}) {
      DriverOptions driver_options;
      driver_options.seed = seed;
      driver_options.order = order;
      FakeDriver driver(driver_options);
      ASSERT_TRUE(driver.Open(machine).ok());
      Warm(&driver);
      for (const UnitIndex unit : driver.core().WarmUnits()) {
        ASSERT_TRUE(Resident(driver, unit));
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
