// What becomes of guesses: counted by hand.
#include <gtest/gtest.h>

#include <vector>

#include "tests/scheduler/by_hand.h"
#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

TEST(CorePrefetchTest, GuessesAreUsedWastedOrStillThere) {
  FakeDriver driver{DriverOptions{}};
  ASSERT_TRUE(driver.Open(SmallMachine(1, 16, 1, 3)).ok());
  const CardCounters& card = driver.core().counters().cards[0];
  ASSERT_TRUE(driver.Hint(0, {1, 2}).ok());
  EXPECT_EQ(card.prefetch_unused, 2u);
  Do(&driver, 0, {1});
  Do(&driver, 0, {1});
  EXPECT_EQ(card.prefetch_used, 1u);
  EXPECT_EQ(card.prefetch_unused, 1u);
  for (const int32_t id : {5, 6, 7}) Do(&driver, 0, {id});
  EXPECT_EQ(Resident(driver, 2), 0u);
  EXPECT_EQ(card.prefetch_used, 1u);
  EXPECT_EQ(card.prefetch_wasted, 1u);
  EXPECT_EQ(card.bytes_prefetch_wasted, 100u);
  ASSERT_TRUE(driver.Hint(0, {9}).ok());
  EXPECT_EQ(card.prefetch_unused, 1u);
  EXPECT_EQ(card.prefetch_admitted, 3u);
  ExpectClean(&driver);
}

// Of a policy that gives up first what nobody used.
TEST(CorePrefetchTest, AGuessStaysUntilTheStepItWasMadeFor) {
  CoreOptions options = SmallMachine(3, 8, 1, 4);
  options.policy = "lfu";
  FakeDriver driver{DriverOptions{}};
  ASSERT_TRUE(driver.Open(options).ok());
  const auto step = [&driver](uint32_t layer, int32_t id, uint64_t pass) {
    ASSERT_TRUE(driver.Step(layer, {id}, pass).ok());
    driver.AnswerAll();
  };
  for (const int32_t id : {0, 1, 2, 3}) step(0, id, 0);
  ASSERT_TRUE(driver.Hint(2, {5}, 0).ok());
  // Two layers of misses between, none of which takes its slot.
  for (const int32_t id : {4, 5, 6}) step(0, id, 0);
  for (const int32_t id : {4, 5}) step(1, id, 0);
  EXPECT_EQ(Resident(driver, 2 * 8 + 5), 1u);
  // Another unit is what the layer wants: now it leaves as the policy has it.
  step(2, 6, 0);
  step(0, 7, 1);
  EXPECT_EQ(Resident(driver, 2 * 8 + 5), 0u);
  EXPECT_EQ(driver.core().counters().cards[0].prefetch_wasted, 1u);
  // Nobody waits for ever for a layer that does not come, nor with more than a quarter of a pool.
  ASSERT_TRUE(driver.Hint(2, {1}, 1).ok());
  for (const int32_t id : {1, 2, 3}) step(0, id, 2);
  EXPECT_EQ(Resident(driver, 2 * 8 + 1), 1u);
  for (const int32_t id : {4, 5, 6}) step(0, id, 3);
  EXPECT_EQ(Resident(driver, 2 * 8 + 1), 0u);
  ASSERT_TRUE(driver.Hint(2, {1, 2}, 3).ok());
  for (const int32_t id : {0, 1, 2}) step(0, id, 3);
  EXPECT_LT(Resident(driver, 2 * 8 + 1, 2), 2u);
  ExpectClean(&driver);
}

}  // namespace
}  // namespace berth::scheduler
