// What becomes of guesses: counted by hand.
#include <gtest/gtest.h>

#include <vector>

#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

class PrefetchTest : public ::testing::Test {
 protected:
  void Open(const CoreOptions& options) { ASSERT_TRUE(driver_.Open(options).ok()); }
  void Do(const std::vector<int32_t>& ids) {
    ASSERT_TRUE(driver_.Step(0, ids).ok());
    driver_.AnswerAll();
  }
  const CardCounters& card() { return driver_.core().counters().cards[0]; }
  bool Resident(UnitIndex unit) { return driver_.core().Find(unit).slot != kNoSlot; }
  void TearDown() override {
    driver_.AnswerAll();
    driver_.CheckQuiet(/*exact=*/true);
    EXPECT_EQ(driver_.error(), "");
  }

  FakeDriver driver_{DriverOptions{}};
};

TEST_F(PrefetchTest, GuessesAreUsedWastedOrStillThere) {
  Open(SmallMachine(1, 16, 1, 3));
  ASSERT_TRUE(driver_.Hint(0, {1, 2}).ok());
  EXPECT_EQ(card().prefetch_unused, 2u);
  Do({1});
  Do({1});
  EXPECT_EQ(card().prefetch_used, 1u);
  EXPECT_EQ(card().prefetch_unused, 1u);
  for (const int32_t id : {5, 6, 7}) Do({id});
  EXPECT_FALSE(Resident(2));
  EXPECT_EQ(card().prefetch_used, 1u);
  EXPECT_EQ(card().prefetch_wasted, 1u);
  EXPECT_EQ(card().bytes_prefetch_wasted, 100u);
  ASSERT_TRUE(driver_.Hint(0, {9}).ok());
  EXPECT_EQ(card().prefetch_unused, 1u);
  EXPECT_EQ(card().prefetch_admitted, 3u);
}

// Of a policy that gives up first what nobody used.
TEST_F(PrefetchTest, AGuessStaysUntilTheStepItWasMadeFor) {
  CoreOptions options = SmallMachine(3, 8, 1, 4);
  options.policy = "lfu";
  Open(options);
  const auto step = [this](uint32_t layer, int32_t id, uint64_t pass) {
    ASSERT_TRUE(driver_.Step(layer, {id}, pass).ok());
    driver_.AnswerAll();
  };
  for (const int32_t id : {0, 1, 2, 3}) step(0, id, 0);
  ASSERT_TRUE(driver_.Hint(2, {5}, 0).ok());
  // Two layers of misses between, none of which takes its slot.
  for (const int32_t id : {4, 5, 6}) step(0, id, 0);
  for (const int32_t id : {4, 5}) step(1, id, 0);
  EXPECT_TRUE(Resident(2 * 8 + 5));
  // Another unit is what the layer wants: now it leaves as the policy has it.
  step(2, 6, 0);
  step(0, 7, 1);
  EXPECT_FALSE(Resident(2 * 8 + 5));
  EXPECT_EQ(card().prefetch_wasted, 1u);
  // Nobody waits for ever for a layer that does not come, nor with more than a quarter of a pool.
  ASSERT_TRUE(driver_.Hint(2, {1}, 1).ok());
  for (const int32_t id : {1, 2, 3}) step(0, id, 2);
  EXPECT_TRUE(Resident(2 * 8 + 1));
  for (const int32_t id : {4, 5, 6}) step(0, id, 3);
  EXPECT_FALSE(Resident(2 * 8 + 1));
  ASSERT_TRUE(driver_.Hint(2, {1, 2}, 3).ok());
  for (const int32_t id : {0, 1, 2}) step(0, id, 3);
  EXPECT_FALSE(Resident(2 * 8 + 1) && Resident(2 * 8 + 2));
}

}  // namespace
}  // namespace berth::scheduler
