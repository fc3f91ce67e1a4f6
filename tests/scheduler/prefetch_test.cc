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

}  // namespace
}  // namespace berth::scheduler
