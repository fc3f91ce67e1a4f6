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

}  // namespace
}  // namespace berth::scheduler
