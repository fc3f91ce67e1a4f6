// Misses that the host computes, on small machines, counted by hand.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/scheduler/by_hand.h"
#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

using What = FakeDriver::What;

DriverOptions InOrder() {
  DriverOptions o;
  o.order = DriverOptions::Order::kInOrder;
  return o;
}

CoreOptions HostMachine(uint32_t layers, uint32_t experts, uint32_t top_k, uint32_t slots) {
  CoreOptions machine = SmallMachine(layers, experts, top_k, slots);
  machine.miss = CoreOptions::Miss::kHost;
  machine.max_rows = 16;
  return machine;
}

uint32_t HostWaves(const FakeDriver& driver) {
  uint32_t n = 0;
  for (const FakeDriver::WaveRecord& wave : driver.waves) n += wave.on_host ? 1 : 0;
  return n;
}

TEST(HostMissTest, IsReadComputedAndLoadedBehindItsStep) {
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(HostMachine(1, 8, 1, 3)).ok());
  const auto ticket = driver.Step(0, {5});
  ASSERT_TRUE(ticket.ok());
  EXPECT_TRUE(Resident(driver, 5));  // by decision
  EXPECT_TRUE(driver.waves.empty());
  ASSERT_TRUE(driver.AnswerOne(What::kRead, 5));
  ASSERT_EQ(driver.waves.size(), 1u);
  EXPECT_TRUE(driver.waves[0].on_host);
  EXPECT_TRUE(driver.waves[0].units[0].host.staging);  // there is no host tier
  EXPECT_EQ(driver.copies.size(), 1u);
  // The step does not wait for the copy.
  ASSERT_TRUE(driver.AnswerOne(What::kCompute));
  EXPECT_EQ(driver.done.count(*ticket), 1u);
  // A step that comes now hits, late.
  const auto again = driver.Step(0, {5});
  ASSERT_TRUE(again.ok());
  driver.AnswerAll();
  EXPECT_TRUE(driver.done.at(*again).ok());
  const CardCounters& c = driver.core().counters().cards[0];
  EXPECT_EQ(c.misses, 1u);
  EXPECT_EQ(c.host_computed, 1u);
  EXPECT_EQ(c.host_waves, 1u);
  EXPECT_EQ(c.behind_loads, 1u);
  EXPECT_EQ(c.bytes_h2d_behind, 100u);
  EXPECT_EQ(c.bytes_h2d_demand, 0u);
  EXPECT_EQ(c.hits, 1u);
  EXPECT_EQ(c.hits_late, 1u);
  EXPECT_EQ(c.waves, 1u);
  ExpectClean(&driver);
}

TEST(HostMissTest, MoreRowsThanExactAreStaged) {
  CoreOptions machine = HostMachine(1, 8, 1, 4);
  machine.exact_rows = 2;
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  Do(&driver, 0, {1, 2, 2, 3, 3, 3});
  const CardCounters& c = driver.core().counters().cards[0];
  EXPECT_EQ(c.misses, 3u);
  EXPECT_EQ(c.host_computed, 2u);
  EXPECT_EQ(c.bytes_h2d_demand, 100u);
  ExpectClean(&driver);
}

TEST(HostMissTest, WithoutMissesTheHostComputesNothing) {
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(HostMachine(1, 8, 2, 8)).ok());
  Do(&driver, 0, {1, 2});
  const uint32_t before = HostWaves(driver);
  Do(&driver, 0, {2, 1});
  EXPECT_EQ(HostWaves(driver), before);
  EXPECT_EQ(driver.core().counters().cards[0].hits, 2u);
  ExpectClean(&driver);
}

// Each unit is one wave from a staging slot of its own; the next read of the slot waits for it.
TEST(HostMissTest, FewerStagingSlotsThanMisses) {
  CoreOptions machine = HostMachine(1, 64, 4, 12);
  machine.staging_slots = 1;
  machine.prefetch_staging_slots = 1;
  machine.max_behind = 1;
  for (const auto order : {DriverOptions::Order::kInOrder, DriverOptions::Order::kReversed,
                           DriverOptions::Order::kRandom}) {
    DriverOptions options;
    options.order = order;
    FakeDriver driver(options);
    ASSERT_TRUE(driver.Open(machine).ok());
    Do(&driver, 0, Range(0, 40));
    const CardCounters& c = driver.core().counters().cards[0];
    EXPECT_EQ(c.host_computed, 40u);
    EXPECT_EQ(c.behind_loads, 1u);  // as many as may be under way
    EXPECT_EQ(c.behind_dropped, 39u);
    EXPECT_EQ(HostWaves(driver), 40u);
    ExpectClean(&driver);
  }
}

TEST(HostMissTest, WhatRamHasIsComputedTogether) {
  CoreOptions machine = HostMachine(1, 32, 4, 12);
  machine.chunk = 4;
  machine.host_class_slots = {32};
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  Do(&driver, 0, Range(0, 32));
  EXPECT_EQ(driver.core().counters().host.misses, 32u);
  // 24 to 31 are in the arena; the others in RAM alone.
  const size_t before = driver.waves.size();
  Do(&driver, 0, {0, 1, 31, 2, 3, 4, 5, 6});
  std::vector<size_t> on_host;
  for (size_t w = before; w < driver.waves.size(); ++w) {
    if (driver.waves[w].on_host) on_host.push_back(driver.waves[w].units.size());
  }
  const CardCounters& c = driver.core().counters().cards[0];
  uint64_t computed = 0;
  for (const size_t n : on_host) computed += n;
  EXPECT_EQ(c.host_computed, 32u + computed);
  ASSERT_GE(on_host.size(), 1u);
  EXPECT_EQ(on_host[0], std::min<size_t>(4, computed));
  EXPECT_EQ(driver.core().counters().host.hits, computed);
  EXPECT_EQ(driver.core().counters().storage.units_demand, 32u);
  ExpectClean(&driver);
}

// Exclusive: what is loaded behind leaves RAM, but not before the host has computed it.
TEST(HostMissTest, ExclusiveTiersKeepTheBytesUntilTheyAreComputed) {
  CoreOptions machine = HostMachine(1, 16, 2, 6);
  machine.host_class_slots = {4};
  machine.host_exclusive = true;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    DriverOptions options;
    options.seed = seed;
    FakeDriver driver(options);
    ASSERT_TRUE(driver.Open(machine).ok());
    for (int32_t first = 0; first < 40; ++first) {
      ASSERT_TRUE(driver.Step(0, {first % 16, (first * 7 + 3) % 16}).ok());
      if (first % 3 == 0) driver.AnswerAll();
    }
    driver.AnswerAll();
    const Counters& c = driver.core().counters();
    EXPECT_GT(c.host.promoted, 0u);
    EXPECT_GT(c.cards[0].host_computed, 0u);
    ExpectClean(&driver);
  }
}

TEST(HostMissTest, AUnitThatCannotBeReadFailsTheStepsThatNeedIt) {
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(HostMachine(1, 8, 2, 6)).ok());
  const auto bad = driver.Step(0, {1, 2});
  const auto good = driver.Step(0, {3, 2});
  ASSERT_TRUE(bad.ok() && good.ok());
  ASSERT_TRUE(driver.AnswerOne(What::kRead, 1, DataLossError("unit 1: gone")));
  driver.AnswerAll();
  EXPECT_EQ(driver.done.at(*bad).code(), StatusCode::kDataLoss);
  EXPECT_TRUE(driver.done.at(*good).ok());
  EXPECT_FALSE(Resident(driver, 1));
  Do(&driver, 0, {1, 3});  // it is tried again
  EXPECT_TRUE(Resident(driver, 1));
  ExpectClean(&driver, /*exact=*/false);
}

// Loads behind steps that do not end hold the steps up in the end, so they cannot pile up.
TEST(HostMissTest, LoadsBehindStepsAreBounded) {
  CoreOptions machine = HostMachine(1, 64, 1, 8);
  machine.max_behind = 2;
  machine.host_class_slots = {64};
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  Do(&driver, 0, Range(40, 16));  // two of them stay in the arena, all in RAM
  std::vector<TicketId> tickets;
  for (int32_t id = 40; id < 56 && tickets.size() < 3; ++id) {
    if (Resident(driver, static_cast<UnitIndex>(id))) continue;
    const auto ticket = driver.Step(0, {id});
    ASSERT_TRUE(ticket.ok());
    tickets.push_back(*ticket);
  }
  ASSERT_EQ(tickets.size(), 3u);
  // The first two are computed from RAM at once; the third waits for the load of the first.
  while (driver.AnswerOne(What::kCompute)) {
  }
  EXPECT_EQ(driver.done.count(tickets[0]), 1u);
  EXPECT_EQ(driver.done.count(tickets[1]), 1u);
  EXPECT_EQ(driver.done.count(tickets[2]), 0u);
  ExpectClean(&driver);
  EXPECT_EQ(driver.done.count(tickets[2]), 1u);
}

// Leased units stay; what finds no slot is computed and not loaded.
TEST(HostMissTest, WhatFindsNoSlotIsComputedAllTheSame) {
  CoreOptions machine = HostMachine(1, 16, 1, 4);
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  const auto lease = driver.Lease({3});
  ASSERT_TRUE(lease.ok());
  driver.AnswerAll();
  Do(&driver, 0, Range(4, 12));  // of one step: nothing of its own may leave for it
  const CardCounters& c = driver.core().counters().cards[0];
  EXPECT_EQ(c.host_computed, 12u);
  EXPECT_EQ(c.behind_loads, 3u);
  EXPECT_EQ(c.behind_dropped, 0u);
  EXPECT_EQ(c.ring_units, 0u);
  EXPECT_TRUE(Resident(driver, 3));
  ASSERT_TRUE(driver.Release(*lease).ok());
  ExpectClean(&driver);
}

TEST(HostMissTest, AHintedUnitIsAHit) {
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(HostMachine(1, 8, 2, 6)).ok());
  ASSERT_TRUE(driver.Hint(0, {4}).ok());
  ASSERT_TRUE(driver.Step(0, {4, 5}).ok());  // its bytes are still on their way
  driver.AnswerAll();
  const CardCounters& c = driver.core().counters().cards[0];
  EXPECT_EQ(c.hits, 1u);
  EXPECT_EQ(c.hits_late, 1u);
  EXPECT_EQ(c.host_computed, 1u);
  EXPECT_EQ(c.prefetch_used, 1u);
  ExpectClean(&driver);
}

TEST(HostMissTest, CostsMustBeWhole) {
  CoreOptions machine = HostMachine(1, 8, 1, 3);
  machine.miss = CoreOptions::Miss::kAuto;
  FakeDriver none(InOrder());
  EXPECT_EQ(none.Open(machine).code(), StatusCode::kInvalidArgument);
  machine.miss_costs.rows = machine.exact_rows;
  FakeDriver part(InOrder());
  EXPECT_EQ(part.Open(machine).code(), StatusCode::kInvalidArgument);
}

// Auto: of six units in RAM the link takes a part, by what both cost.
TEST(HostMissTest, AutoSplitsByCost) {
  CoreOptions machine = HostMachine(1, 32, 6, 18);
  machine.miss = CoreOptions::Miss::kAuto;
  machine.host_class_slots = {32};
  MissCosts& costs = machine.miss_costs;
  costs.rows = machine.exact_rows;
  costs.host.assign(costs.rows, 100);
  costs.read = {1000};
  costs.cards.resize(1);
  costs.cards[0].copy = {100};
  costs.cards[0].call = {1};
  costs.cards[0].unit.assign(costs.rows, 1);
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  for (int32_t first = 0; first < 30; first += 6) Do(&driver, 0, Range(first, 6));
  const uint64_t before = driver.core().counters().cards[0].host_computed;
  std::vector<int32_t> missed;
  for (int32_t id = 0; id < 30 && missed.size() < 6; ++id) {
    if (!Resident(driver, static_cast<UnitIndex>(id))) missed.push_back(id);
  }
  ASSERT_EQ(missed.size(), 6u);
  Do(&driver, 0, missed);
  EXPECT_EQ(driver.core().counters().cards[0].host_computed - before, 3u);
  ExpectClean(&driver);
}

}  // namespace
}  // namespace berth::scheduler
