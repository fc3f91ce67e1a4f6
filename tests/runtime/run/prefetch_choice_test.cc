// The budget that is chosen from what budgets would take.
#include "runtime/run/prefetch_choice.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

namespace berth {
namespace {

Result<PrefetchChoice> Choose(uint32_t most_units, const std::map<uint64_t, double>& seconds) {
  const std::vector<uint64_t> unit_bytes = {50, 100, 70};
  return ChoosePrefetch(unit_bytes, most_units, [&](uint64_t bytes) -> Result<double> {
    const auto at = seconds.find(bytes);
    if (at == seconds.end()) return NotFoundError("budget " + std::to_string(bytes));
    return at->second;
  });
}

TEST(PrefetchChoice, TakesTheFastest) {
  const auto choice = Choose(8, {{0, 10}, {100, 9}, {200, 7}, {400, 8}, {800, 20}});
  ASSERT_TRUE(choice.ok()) << choice.status().ToString();
  EXPECT_EQ(choice->step_bytes, 200u);
  ASSERT_EQ(choice->trials.size(), 5u);
  EXPECT_EQ(choice->trials[3].step_bytes, 400u);
  EXPECT_EQ(choice->trials[3].seconds, 8);
}

TEST(PrefetchChoice, OfThoseWithinOnePercentTheSmallest) {
  EXPECT_EQ(Choose(2, {{0, 10}, {100, 10}, {200, 10}})->step_bytes, 0u);
  EXPECT_EQ(Choose(2, {{0, 10}, {100, 9.95}, {200, 9.92}})->step_bytes, 0u);
  EXPECT_EQ(Choose(2, {{0, 10}, {100, 9.85}, {200, 9.8}})->step_bytes, 100u);
  EXPECT_EQ(Choose(2, {{0, 10}, {100, 9.95}, {200, 9.8}})->step_bytes, 200u);
}

TEST(PrefetchChoice, NoneIsAlwaysTried) {
  EXPECT_EQ(Choose(1, {{0, 1}, {100, 2}})->step_bytes, 0u);
  const auto none = Choose(0, {{0, 1}});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->step_bytes, 0u);
  EXPECT_EQ(Choose(0, {}).status().code(), StatusCode::kNotFound);
}

TEST(PrefetchChoice, WhatCannotBeSimulatedIsAnError) {
  EXPECT_EQ(Choose(4, {{0, 1}, {100, 2}}).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(Choose(0, {{0, std::numeric_limits<double>::quiet_NaN()}}).ok());
  EXPECT_FALSE(Choose(0, {{0, -1}}).ok());
}

TEST(PrefetchChoice, TriesOnAPrefix) {
  EXPECT_EQ(PrefetchTrialPasses(1), 1u);
  EXPECT_EQ(PrefetchTrialPasses(100), 50u);
  EXPECT_EQ(PrefetchTrialPasses(1u << 30), 1000u);
  EXPECT_EQ(MostPrefetchUnits(128, 8, 1), 8u);
  EXPECT_EQ(MostPrefetchUnits(128, 8, 64), 128u);
  EXPECT_EQ(MostPrefetchUnits(128, 8, 0), 8u);
  EXPECT_EQ(MostPrefetchUnits(UINT32_MAX, 1u << 20, UINT32_MAX), UINT32_MAX);
}

}  // namespace
}  // namespace berth
