// Steps, waves, prefetch and failures on small machines, counted by hand.
#include <gtest/gtest.h>

#include <algorithm>
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

std::vector<UnitIndex> Units(const std::vector<WaveUnit>& wave) {
  std::vector<UnitIndex> units;
  for (const WaveUnit& unit : wave) units.push_back(unit.unit);
  return units;
}

TEST(CoreStepTest, SlotLife) {
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(SmallMachine(1, 8, 1, 3)).ok());
  const auto ticket = driver.Step(0, {5});
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(Resident(driver, 5));  // by decision
  EXPECT_EQ(driver.reads.size(), 1u);
  EXPECT_EQ(driver.copies.size(), 0u);
  ASSERT_TRUE(driver.AnswerOne(What::kRead, 5));
  EXPECT_EQ(driver.copies.size(), 1u);
  EXPECT_EQ(driver.publishes.size(), 0u);
  ASSERT_TRUE(driver.AnswerOne(What::kCopy, 5));
  EXPECT_EQ(driver.publishes.size(), 1u);
  EXPECT_EQ(driver.waves.size(), 0u);
  ASSERT_TRUE(driver.AnswerOne(What::kPublish, 5));
  EXPECT_EQ(driver.waves.size(), 1u);
  EXPECT_TRUE(driver.done.empty());

  // While the wave runs, two more units come and the first leaves by decision.
  for (int32_t id : {6, 7, 1}) ASSERT_TRUE(driver.Step(0, {id}).ok());
  EXPECT_FALSE(Resident(driver, 5));
  for (UnitIndex u : {6, 7, 1}) ASSERT_TRUE(driver.AnswerOne(What::kRead, u));
  // Its entry and its bytes stay under the wave.
  EXPECT_EQ(driver.publishes.size(), 1u);
  EXPECT_EQ(driver.copies.size(), 3u);
  ASSERT_TRUE(driver.AnswerOne(What::kCompute));
  EXPECT_EQ(driver.done.count(*ticket), 1u);
  ASSERT_EQ(driver.publishes.size(), 2u);
  EXPECT_FALSE(driver.publishes[1].publish);
  EXPECT_EQ(driver.copies.size(), 3u);  // not before the withdrawal is known
  ASSERT_TRUE(driver.AnswerOne(What::kPublish, 5));
  EXPECT_EQ(driver.copies.size(), 4u);
  ExpectClean(&driver);
}

TEST(CoreStepTest, WavesAreHitsThenMissesInOrderOfAppearance) {
  CoreOptions machine = SmallMachine(1, 16, 4, 16);
  machine.max_rows = 2;
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  Do(&driver, 0, {3, 5, kNoExpert, kNoExpert});
  const size_t before = driver.waves.size();
  // Expert 9 twice in one row.
  Do(&driver, 0, {9, 3, 7, 9, /*row 1*/ 5, 1, 3, 12});
  std::vector<FakeDriver::WaveRecord> waves(driver.waves.begin() + static_cast<ptrdiff_t>(before),
                                            driver.waves.end());
  std::sort(waves.begin(), waves.end(),
            [](const auto& a, const auto& b) { return a.wave < b.wave; });
  ASSERT_EQ(waves.size(), 3u);
  using V = std::vector<UnitIndex>;
  using P = std::vector<std::vector<uint32_t>>;
  EXPECT_EQ(Units(waves[0].units), (V{3, 5}));
  EXPECT_EQ(waves[0].pairs, (P{{1, 6}, {4}}));
  EXPECT_EQ(Units(waves[1].units), (V{9, 7}));
  EXPECT_EQ(waves[1].pairs, (P{{0, 3}, {2}}));
  EXPECT_EQ(Units(waves[2].units), (V{1, 12}));
  EXPECT_EQ(waves[2].pairs, (P{{5}, {7}}));
  const CardCounters& c = driver.core().counters().cards[0];
  EXPECT_EQ(c.hits, 2u);
  EXPECT_EQ(c.misses, 6u);
  EXPECT_EQ(c.waves, 4u);  // the first step's one wave of two, then three
  ExpectClean(&driver);
}

TEST(CoreStepTest, AStepLargerThanTheArenaReadsEachUnitOnceAndEvictsNoneOfItsOwn) {
  CoreOptions machine = SmallMachine(1, 512, 10, 190);
  machine.max_rows = 35;
  FakeDriver driver(DriverOptions{});
  ASSERT_TRUE(driver.Open(machine).ok());
  Do(&driver, 0, Range(200, 190));
  const size_t before = driver.reads.size();
  Do(&driver, 0, Range(0, 350));
  std::set<UnitIndex> distinct;
  for (size_t i = before; i < driver.reads.size(); ++i) distinct.insert(driver.reads[i].unit);
  EXPECT_EQ(driver.reads.size() - before, 200u);
  EXPECT_EQ(distinct.size(), 200u);
  const CardCounters& c = driver.core().counters().cards[0];
  EXPECT_EQ(c.hits, 150u);           // 200..349
  EXPECT_EQ(c.misses, 190u + 200u);  // the first step's, then 0..199
  EXPECT_EQ(c.evicted, 40u);         // 350..389 are not of the step
  EXPECT_EQ(c.ring_units, 160u);
  for (UnitIndex u = 200; u < 350; ++u) EXPECT_TRUE(Resident(driver, u));
  ExpectClean(&driver);
}

TEST(CoreStepTest, ChunkIsClampedToTheRing) {
  CoreOptions machine = SmallMachine(1, 8, 1, 3);
  machine.chunk = 8;
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  EXPECT_EQ(driver.core().chunk(), 4u);
  ASSERT_EQ(driver.core().notes().size(), 1u);
  EXPECT_EQ(driver.core().notes()[0], "chunk lowered from 8 to the ring's 4 units");
}

TEST(CoreStepTest, BelowTheHardMinimumIsRefusedWithTheNumber) {
  FakeDriver driver(InOrder());
  const Status status = driver.Open(SmallMachine(1, 64, 4, 11));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("at least 12"), std::string::npos) << status.ToString();
  FakeDriver enough(InOrder());
  EXPECT_TRUE(enough.Open(SmallMachine(1, 64, 4, 12)).ok());
  FakeDriver all_units(InOrder());
  EXPECT_TRUE(all_units.Open(SmallMachine(1, 8, 4, 8)).ok());
}

TEST(CoreStepTest, BadStepsAreRefusedAndDecideNothing) {
  FakeDriver driver(InOrder());
  CoreOptions machine = SmallMachine(2, 8, 2, 6);
  machine.max_tickets = 1;
  ASSERT_TRUE(driver.Open(machine).ok());
  const uint64_t digest = driver.core().counters().decisions;
  EXPECT_EQ(driver.Step(2, {0, 1}).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(driver.Step(0, {0, 8}).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(driver.Step(0, {0, -2}).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(driver.Step(0, {0, 1, 2, 3}).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(driver.Step(0, {}).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(driver.core().counters().decisions, digest);
  ASSERT_TRUE(driver.Step(0, {0, 1}).ok());
  EXPECT_EQ(driver.Step(0, {2, 3}).status().code(), StatusCode::kResourceExhausted);
  driver.AnswerAll();
  // A step that routes to nobody is done before it returns.
  const auto nobody = driver.Step(0, {kNoExpert, kNoExpert});
  ASSERT_TRUE(nobody.ok());
  EXPECT_EQ(driver.done.count(*nobody), 1u);
  driver.Close();
  EXPECT_EQ(driver.Step(0, {0, 1}).status().code(), StatusCode::kFailedPrecondition);
  ExpectClean(&driver);
}

TEST(CoreStepTest, SessionsThatFightForSlotsDoNotWaitForEachOther) {
  for (auto order : {DriverOptions::Order::kReversed, DriverOptions::Order::kRandom}) {
    CoreOptions machine = SmallMachine(1, 64, 4, 12);
    machine.max_tickets = 3;
    machine.max_rows = 8;
    machine.cards[0].ring_slots = 1;
    machine.staging_slots = 1;
    DriverOptions options;
    options.order = order;
    FakeDriver driver(options);
    ASSERT_TRUE(driver.Open(machine).ok());
    for (int32_t i = 0; i < 50; ++i) {
      for (int32_t s = 0; s < 3; ++s) {
        ASSERT_TRUE(driver.Step(0, Range((i * 7 + s * 20) % 32, 32)).ok());
      }
      driver.AnswerAll();
      ASSERT_EQ(driver.done.size(), static_cast<size_t>(3 * (i + 1)));
    }
    ExpectClean(&driver);
  }
}

TEST(CoreStepTest, AFailedReadFailsOnlyTheStepsThatNeedIt) {
  DriverOptions options = InOrder();
  options.faults.broken_units = {0};
  FakeDriver driver(options);
  ASSERT_TRUE(driver.Open(SmallMachine(1, 16, 2, 6)).ok());
  const auto bad = driver.Step(0, {0, 1});
  const auto late_hit = driver.Step(0, {0, 4});  // counts on the load that will fail
  const auto good = driver.Step(0, {2, 3});
  driver.AnswerAll();
  EXPECT_EQ(driver.done[*bad].code(), StatusCode::kUnavailable);
  EXPECT_EQ(driver.done[*late_hit].code(), StatusCode::kUnavailable);
  EXPECT_TRUE(driver.done[*good].ok());
  EXPECT_FALSE(Resident(driver, 0));
  EXPECT_TRUE(Resident(driver, 1));
  EXPECT_EQ(driver.core().counters().failed_reads, 1u);
  EXPECT_EQ(driver.core().counters().failed_steps, 2u);
  driver.broken_units().clear();
  const auto again = driver.Step(0, {0, 1});
  driver.AnswerAll();
  EXPECT_TRUE(driver.done[*again].ok());
  EXPECT_TRUE(Resident(driver, 0));
  ExpectClean(&driver, /*exact=*/false);
}

TEST(CoreStepTest, ASlotWhoseTableUpdateFailedIsGivenToNobody) {
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(SmallMachine(1, 8, 1, 3)).ok());
  for (int32_t id : {0, 1, 2}) Do(&driver, 0, {id});
  const CardSlot lost = driver.core().Find(0);
  const auto ticket = driver.Step(0, {3});  // takes the slot of 0
  ASSERT_TRUE(driver.AnswerOne(What::kPublish, 0, UnavailableError("update: lost at unit 0")));
  driver.AnswerAll();
  EXPECT_EQ(driver.done[*ticket].code(), StatusCode::kUnavailable);
  EXPECT_EQ(driver.core().counters().failed_updates, 1u);
  driver.copies.clear();
  for (int32_t id : {3, 4, 5, 6, 0, 3}) Do(&driver, 0, {id});
  for (const CopyAction& copy : driver.copies) {
    EXPECT_TRUE(copy.card.ring || copy.card.slot != lost.slot);
  }
  ExpectClean(&driver, /*exact=*/false);
}

TEST(CorePrefetchTest, AdmittedDroppedResident) {
  CoreOptions machine = SmallMachine(2, 16, 2, 12);
  machine.max_prefetch_units = 2;
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  ASSERT_TRUE(driver.Hint(1, {3, 4, 5, 3, kNoExpert}).ok());
  const Counters& c = driver.core().counters();
  EXPECT_EQ(c.cards[0].prefetch_admitted, 2u);
  EXPECT_EQ(c.cards[0].prefetch_dropped, 1u);
  EXPECT_EQ(c.cards[0].prefetch_resident, 1u);
  EXPECT_EQ(c.cards[0].bytes_h2d_prefetch, 200u);
  EXPECT_EQ(c.storage.bytes_prefetch, 200u);
  EXPECT_EQ(c.storage.bytes_alignment, 56u);
  ASSERT_TRUE(driver.Step(1, {3, 4}).ok());
  EXPECT_EQ(c.cards[0].hits, 2u);
  EXPECT_EQ(c.cards[0].hits_late, 2u);
  EXPECT_EQ(c.storage.bytes_demand, 0u);
  driver.AnswerAll();
  ASSERT_TRUE(driver.Hint(1, {5}).ok());  // the guesses came true: there is room for others
  EXPECT_EQ(c.cards[0].prefetch_admitted, 3u);
  EXPECT_EQ(driver.Hint(1, {16}).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(driver.Hint(2, {0}).code(), StatusCode::kOutOfRange);
  ExpectClean(&driver);
}

// Hints that are always wrong, beside steps that always hit, on a drive that never answers: what is
// decided and cannot move stays bounded, and a miss finds its way.
TEST(CorePrefetchTest, WrongHintsStayBounded) {
  CoreOptions machine = SmallMachine(1, 64, 2, 32);
  machine.max_prefetch_units = 6;
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  ASSERT_TRUE(driver.Step(0, {0, 1}).ok());
  driver.AnswerAll();
  for (int round = 0; round < 200; ++round) {
    const int32_t wrong = 2 + round % 60;
    ASSERT_TRUE(driver.Hint(0, {wrong}).ok());
    ASSERT_TRUE(driver.Step(0, {0, 1}).ok());
    while (driver.AnswerOne(What::kCompute)) {
    }
  }
  const CardCounters& c = driver.core().counters().cards[0];
  EXPECT_EQ(c.prefetch_admitted, 6u);
  EXPECT_EQ(c.prefetch_admitted + c.prefetch_dropped + c.prefetch_resident, 200u);
  EXPECT_EQ(driver.core().counters().storage.units_prefetch, 6u);
  ASSERT_TRUE(driver.Step(0, {62, 63}).ok());
  driver.AnswerAll();
  ExpectClean(&driver);
}

TEST(CorePrefetchTest, DemandOvertakesAndPromotes) {
  CoreOptions machine = SmallMachine(1, 16, 2, 16);
  machine.read_bytes_in_flight = 128;  // one read at a time
  machine.prefetch_staging_slots = 4;
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  ASSERT_TRUE(driver.Hint(0, {0, 1, 2, 3}).ok());
  ASSERT_EQ(driver.reads.size(), 1u);
  EXPECT_TRUE(driver.reads[0].prefetch);
  ASSERT_TRUE(driver.Step(0, {8, kNoExpert}).ok());  // a new read
  ASSERT_TRUE(driver.Step(0, {2, kNoExpert}).ok());  // one that the hint began
  std::vector<UnitIndex> order;
  std::vector<bool> prefetch;
  for (int i = 0; i < 5; ++i) {
    order.push_back(driver.reads.back().unit);
    prefetch.push_back(driver.reads.back().prefetch);
    ASSERT_TRUE(driver.AnswerOne(What::kRead));
  }
  EXPECT_EQ(order, (std::vector<UnitIndex>{0, 8, 2, 1, 3}));
  EXPECT_EQ(prefetch, (std::vector<bool>{true, false, false, true, true}));
  ExpectClean(&driver);
}

TEST(CorePrefetchTest, PromotionStartsWhatTheBoundOfPrefetchHeldBack) {
  CoreOptions machine = SmallMachine(1, 16, 2, 16);
  machine.prefetch_read_bytes_in_flight = 128;
  FakeDriver driver(InOrder());
  ASSERT_TRUE(driver.Open(machine).ok());
  ASSERT_TRUE(driver.Hint(0, {0, 1}).ok());
  ASSERT_EQ(driver.reads.size(), 1u);
  ASSERT_TRUE(driver.Step(0, {1, kNoExpert}).ok());
  ASSERT_EQ(driver.reads.size(), 2u);
  EXPECT_EQ(driver.reads[1].unit, 1u);
  EXPECT_FALSE(driver.reads[1].prefetch);
  ExpectClean(&driver);
}

TEST(CorePrefetchTest, PromotionFollowsTheUnitNotItsStagingSlot) {
  CoreOptions machine = SmallMachine(1, 16, 2, 16);
  machine.prefetch_staging_slots = 1;
  machine.read_bytes_in_flight = 128;
  for (bool later : {false, true}) {
    FakeDriver driver(InOrder());
    ASSERT_TRUE(driver.Open(machine).ok());
    ASSERT_TRUE(driver.Hint(0, {8, 3, 4}).ok());  // one after the other through one slot
    ASSERT_TRUE(driver.Step(0, {later ? 4 : 3, kNoExpert}).ok());
    while (driver.copies.size() < 3) ASSERT_TRUE(driver.Answer());
    EXPECT_EQ(driver.reads[1].unit, 3u);
    EXPECT_FALSE(driver.reads[1].prefetch);  // 3 is wanted, or stands before 4
    EXPECT_FALSE(driver.copies[1].prefetch);
    EXPECT_EQ(driver.reads[2].unit, 4u);
    EXPECT_EQ(driver.reads[2].prefetch, !later);
    ExpectClean(&driver);
  }
}

}  // namespace
}  // namespace berth::scheduler
