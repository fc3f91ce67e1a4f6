// Who stays and who leaves: sweeps, pins, leases, quotas and the host tier, counted by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scheduler/by_hand.h"
#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

bool Says(const Core& core, const std::string& what) {
  for (const std::string& note : core.notes()) {
    if (note.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST(CoreResidencyTest, ASweepDoesNotWashOutTheDecodeSet) {
  CoreOptions machine = SmallMachine(1, 64, 2, 20);
  machine.sweep_rows = 4;
  machine.max_rows = 12;
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  for (int32_t i = 0; i < 20; i += 2) Do(&driver, 0, Range(i, 2));
  const CardCounters& c = driver.core().counters().cards[0];

  // 24 new units: half the slots and no more.
  Do(&driver, 0, Range(30, 24));
  EXPECT_EQ(Resident(driver, 0, 10), 0u);
  EXPECT_EQ(Resident(driver, 10, 10), 10u);
  EXPECT_EQ(Resident(driver, 30, 10), 10u);
  EXPECT_EQ(c.ring_units, 14u);

  // The next one takes the places of the last one.
  std::vector<int32_t> ids = Range(54, 10);
  for (int32_t id : Range(40, 14)) ids.push_back(id);
  Do(&driver, 0, ids);
  EXPECT_EQ(Resident(driver, 10, 10), 10u);
  EXPECT_EQ(Resident(driver, 54, 10), 10u);
  EXPECT_EQ(c.ring_units, 28u);

  // What decode touches has come to stay; the sweep's share is two short now.
  Do(&driver, 0, {54, 55});
  Do(&driver, 0, Range(30, 24));
  EXPECT_EQ(Resident(driver, 54, 10), 2u);
  EXPECT_EQ(Resident(driver, 10, 2), 0u);
  EXPECT_EQ(Resident(driver, 12, 8), 8u);
  EXPECT_EQ(Resident(driver, 30, 10), 10u);

  // A decode step's misses take the sweep's places first, a hint's too, past its own units.
  Do(&driver, 0, {0, 1});
  EXPECT_EQ(Resident(driver, 30, 2), 0u);
  ASSERT_TRUE(driver.Hint(0, {32, 2}).ok());
  EXPECT_EQ(Resident(driver, 32, 2), 1u);
  EXPECT_EQ(Resident(driver, 12, 8), 8u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, Pin190Of190IsClampedAndAVictimExists) {
  CoreOptions machine = SmallMachine(1, 512, 10, 190);
  machine.max_rows = 19;
  machine.policy = "heat:pins=190";
  for (int32_t u = 0; u < 512; ++u) machine.heat.push_back(1000 - u);
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  EXPECT_TRUE(Says(driver.core(), "pins lowered from 190 to 160 of 190"));
  Do(&driver, 0, Range(0, 190));
  for (int32_t i = 0; i < 5; ++i) Do(&driver, 0, Range(400 + 10 * i, 10));
  EXPECT_EQ(driver.core().counters().cards[0].evicted, 50u);
  EXPECT_EQ(driver.core().counters().cards[0].ring_units, 0u);
  EXPECT_EQ(Resident(driver, 0, 160), 160u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, HeatOfOtherClassesAndCardsTakesNoPins) {
  CoreOptions machine = SmallMachine(3, 8, 1, 6);
  Geometry& g = machine.geometry;
  g.size_classes = 2;
  g.layer_class = {0, 1, 0};
  machine.cards = {{{6, 3}, 4}, {{6, 3}, 4}};
  for (UnitIndex u = 0; u < g.units(); ++u) machine.card_of_unit.push_back(u % 2);
  machine.policy = "heat:pins=3";
  // Layer 1 is hottest, card 1's units are hotter than card 0's, then layer 0's first experts.
  for (uint32_t u = 0; u < 24; ++u) machine.heat.push_back(u / 8 == 1 ? 900 : u % 2 ? 500 : 50 - u);
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  for (int32_t id : {0, 2, 4, 6}) Do(&driver, 0, {id});
  for (int32_t round = 0; round < 3; ++round) {
    for (int32_t id : {0, 2, 4, 6}) Do(&driver, 2, {id});
  }
  for (UnitIndex u : {0, 2, 4}) EXPECT_EQ(Resident(driver, u, 1), 1u) << u;
  EXPECT_EQ(Resident(driver, 6, 1), 0u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, LeasesLeaveThreeTimesTopK) {
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(SmallMachine(1, 32, 2, 10)).ok());  // 6 of 10 stay
  const auto first = driver.Lease({0, 1, 2, 3});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(driver.leases_ready.count(*first), 0u);
  driver.AnswerAll();
  EXPECT_EQ(driver.leases_ready.count(*first), 1u);
  const Result<LeaseId> refused = driver.Lease({4});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  const auto again = driver.Lease({0, 1});  // pinned already: nothing more is taken
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(driver.core().counters().leases, 2u);
  EXPECT_EQ(driver.core().counters().leases_refused, 1u);
  // Leased units outlive any number of steps.
  for (int32_t i = 4; i < 32; i += 2) Do(&driver, 0, Range(i, 2));
  EXPECT_EQ(Resident(driver, 0, 4), 4u);
  EXPECT_EQ(driver.core().counters().cards[0].lease_loads, 4u);
  ASSERT_TRUE(driver.Release(*first).ok());
  EXPECT_EQ(driver.Release(*first).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(driver.Lease({4}).ok());  // 0, 1 and 4 now
  for (int32_t i = 6; i < 32; i += 2) Do(&driver, 0, Range(i, 2));
  EXPECT_EQ(Resident(driver, 0, 2), 2u);
  EXPECT_EQ(Resident(driver, 2, 2), 0u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, ALeaseIsAllOrNone) {
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(SmallMachine(1, 32, 2, 10)).ok());
  EXPECT_EQ(driver.Lease({0, 1, 2, 3, 4}).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(driver.Lease({5, 5}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.Lease({32}).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(driver.Lease({}).status().code(), StatusCode::kInvalidArgument);
  driver.AnswerAll();
  EXPECT_TRUE(driver.Lease({20, 21, 22, 23}).ok());  // none of the refused pins was kept
  for (int32_t i = 24; i < 32; i += 2) Do(&driver, 0, Range(i, 2));
  EXPECT_EQ(Resident(driver, 0, 4), 0u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, ALeaseReleasedEarlyGivesItsPlaceBackWhenItsLoadEnds) {
  CoreOptions machine = SmallMachine(1, 32, 2, 10);
  machine.max_leases = 1;
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  const auto lease = driver.Lease({0, 1});
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(driver.Release(*lease).ok());
  const Status full = driver.Lease({2}).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(full.message().find("max_leases = 1"), std::string_view::npos);
  driver.AnswerAll();
  EXPECT_EQ(driver.leases_ready.count(*lease), 0u);  // nobody waits for it any more
  EXPECT_TRUE(driver.Lease({2}).ok());
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, WhatLeasesHaveUnderWayIsBounded) {
  CoreOptions machine = SmallMachine(1, 64, 2, 40);
  machine.max_leases = 8;
  machine.max_lease_units = 4;
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  ASSERT_TRUE(driver.Lease({0, 1, 2, 3}).ok());
  const auto second = driver.Lease({4, 5, 6});
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE(driver.Release(*second).ok());  // still under way
  EXPECT_TRUE(driver.Lease({7}).ok());
  const Status full = driver.Lease({8}).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(full.message().find("8 units are still loading"), std::string_view::npos);
  driver.AnswerAll();
  EXPECT_TRUE(driver.Lease({8, 9, 10, 11}).ok());
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, ARefusedLeaseTakesItsPlaceUntilItsLoadsEnd) {
  CoreOptions machine = SmallMachine(1, 32, 2, 10);  // 6 of 10 stay unpinned
  machine.max_leases = 1;
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  EXPECT_NE(driver.Lease({0, 1, 2, 3, 4}).status().message().find("3 x top-k"),
            std::string_view::npos);
  EXPECT_NE(driver.Lease({0}).status().message().find("max_leases"), std::string_view::npos);
  driver.AnswerAll();
  EXPECT_TRUE(driver.Lease({0}).ok());
  EXPECT_EQ(driver.core().counters().leases_refused, 1u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, AVoidLeasePinsNothing) {
  DriverOptions options;
  options.faults.broken_units = {1};
  FakeDriver driver(options);
  ASSERT_TRUE(driver.Open(SmallMachine(1, 32, 2, 10)).ok());
  const auto lease = driver.Lease({0, 1, 2, 3});
  ASSERT_TRUE(lease.ok());
  driver.AnswerAll();
  EXPECT_EQ(driver.leases_ready[*lease].code(), StatusCode::kUnavailable);
  EXPECT_EQ(driver.Release(*lease).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(driver.Lease({4, 5, 6, 7}).ok());
  driver.AnswerAll();
  EXPECT_EQ(driver.error(), "");
}

TEST(CoreResidencyTest, ExclusiveHostTier) {
  CoreOptions machine = SmallMachine(1, 8, 1, 3);
  machine.host_class_slots = {4};
  machine.host_exclusive = true;
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  for (int32_t id : {0, 1, 2}) Do(&driver, 0, {id});  // straight to the card
  const Counters& c = driver.core().counters();
  EXPECT_EQ(c.host.inserted, 0u);
  EXPECT_EQ(c.host.staged, 3u);
  Do(&driver, 0, {3});  // 0 comes back to RAM
  Do(&driver, 0, {0});  // and goes up again, for 1
  EXPECT_EQ(c.host.copied_back, 2u);
  EXPECT_EQ(c.cards[0].units_d2h, 2u);
  EXPECT_EQ(c.cards[0].bytes_d2h, 200u);
  EXPECT_EQ(c.host.promoted, 1u);
  EXPECT_EQ(c.host.hits, 1u);
  EXPECT_EQ(c.host.misses, 4u);
  EXPECT_EQ(c.storage.units_demand, 4u);
  EXPECT_EQ(c.cards[0].bytes_h2d_demand, 500u);
  EXPECT_EQ(c.cards[0].evicted, 2u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, InclusiveHostTier) {
  CoreOptions machine = SmallMachine(1, 8, 1, 3);
  machine.host_class_slots = {4};
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  for (int32_t id : {0, 1, 2, 3, 0, 4, 1}) Do(&driver, 0, {id});
  const Counters& c = driver.core().counters();
  EXPECT_EQ(c.host.inserted, 6u);
  EXPECT_EQ(c.host.hits, 1u);  // 0; then 4 pushes out 1, which was touched before it
  EXPECT_EQ(c.host.misses, 6u);
  EXPECT_EQ(c.host.evicted, 2u);
  EXPECT_EQ(c.host.staged, 0u);
  EXPECT_EQ(c.host.promoted + c.host.copied_back + c.cards[0].units_d2h, 0u);
  EXPECT_EQ(c.storage.bytes_demand, 600u);
  EXPECT_EQ(c.storage.bytes_alignment, 168u);
  EXPECT_EQ(c.cards[0].bytes_h2d_demand, 700u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, UnderTheCliffEachLayerHasItsQuota) {
  for (bool shared : {false, true}) {
    CoreOptions machine = SmallMachine(8, 16, 2, 12);  // a token's cycle is 16 units
    machine.sharing = shared ? CoreOptions::Sharing::kShared : CoreOptions::Sharing::kAuto;
    FakeDriver driver(DriverOptions{});
    ASSERT_TRUE(driver.Open(machine).ok());
    EXPECT_TRUE(Says(driver.core(), shared ? "hits will be few" : "each layer has its own quota"));
    for (int pass = 0; pass < 5; ++pass) {
      for (uint32_t layer = 0; layer < 8; ++layer) Do(&driver, layer, {4, 9});
    }
    const CardCounters& c = driver.core().counters().cards[0];
    // Four layers have two slots, four have one: 12 of 16 hit after the first pass.
    EXPECT_EQ(c.hits, shared ? 0u : 4u * 12);
    EXPECT_EQ(c.ring_units, shared ? 0u : 5u * 4);
    ExpectClean(&driver);
  }
  // A quota of nothing serves no lease and does no harm.
  CoreOptions machine = SmallMachine(8, 16, 1, 3);
  machine.sharing = CoreOptions::Sharing::kPerLayer;
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  EXPECT_EQ(driver.Lease({7 * 16}).status().code(), StatusCode::kResourceExhausted);
  Do(&driver, 7, {0});
  EXPECT_EQ(driver.core().counters().cards[0].ring_units, 1u);
  ExpectClean(&driver);
}

TEST(CoreResidencyTest, ACardWithoutUnitsIsNoCliff) {
  CoreOptions machine = SmallMachine(4, 16, 2, 64);
  machine.sharing = CoreOptions::Sharing::kAuto;
  machine.cards.push_back({{0}, 4});
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  EXPECT_TRUE(driver.core().notes().empty());
}

}  // namespace
}  // namespace berth::scheduler
