// Choosing among timings that are given.
#include "runtime/probe/timing.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::probe {
namespace {

// Variants that take so long, and what has been run of them.
class Given {
 public:
  explicit Given(std::vector<double> seconds)
      : seconds_(std::move(seconds)), runs(seconds_.size(), 0), calls(seconds_.size(), 0) {}
  TimeVariant Time() {
    return [this](size_t variant, uint32_t times) -> Result<double> {
      runs[variant] += times;
      ++calls[variant];
      order.push_back(variant);
      return seconds_[variant] * times;
    };
  }

 private:
  const std::vector<double> seconds_;

 public:
  std::vector<uint32_t> runs, calls;
  std::vector<size_t> order;
};

TEST(Timing, TheFastestIsChosen) {
  Given given({3e-3, 1e-3, 2e-3});
  TimingOptions options;
  const auto seconds = TimeInTurns(3, options, given.Time());
  ASSERT_TRUE(seconds.ok());
  for (size_t v = 0; v < 3; ++v)
    EXPECT_NEAR((*seconds)[v], (v == 1 ? 1 : v == 2 ? 2 : 3) * 1e-3, 1e-9);
  EXPECT_EQ(ChooseFastest(*seconds), 1u);
  // In turns: after the first looks every round takes each once.
  ASSERT_EQ(given.order.size(), 6 + 3 * options.rounds);
  for (size_t i = 6; i < given.order.size(); ++i) EXPECT_EQ(given.order[i], i % 3);
  // Batches of 3 ms.
  EXPECT_EQ(given.runs[1], 2 + 3 * options.rounds);
}

TEST(Timing, TheFirstStaysWhereNothingIsClearlyFaster) {
  EXPECT_EQ(ChooseFastest(std::vector<double>{1.00, 0.99, 2}), 0u);
  EXPECT_EQ(ChooseFastest(std::vector<double>{1.00, 0.97, 0.96}), 2u);
  EXPECT_EQ(ChooseFastest(std::vector<double>{1.00}), 0u);
}

TEST(Timing, TheHopelessAreNotRunAgain) {
  Given given({1e-4, 1e-2, 3e-4});
  const auto seconds = TimeInTurns(3, {}, given.Time());
  ASSERT_TRUE(seconds.ok());
  EXPECT_EQ(given.runs[1], 4u);
  EXPECT_NEAR((*seconds)[1], 1e-2, 1e-9);
  EXPECT_GT(given.runs[2], 2u);
  EXPECT_EQ(ChooseFastest(*seconds), 0u);
}

// Once, while it was looked at for the first time, something else ran.
TEST(Timing, OneSlowRunIsForgiven) {
  uint32_t runs = 0;
  const auto time = [&](size_t variant, uint32_t times) -> Result<double> {
    if (variant == 0) return 2e-3 * times;
    return ++runs == 2 ? 1.0 : 1e-3 * times;
  };
  const auto seconds = TimeInTurns(2, {}, time);
  ASSERT_TRUE(seconds.ok());
  EXPECT_EQ(ChooseFastest(*seconds), 1u);
}

TEST(Timing, TheBudgetAndTheQueueHold) {
  Given slow({2.0});
  ASSERT_TRUE(TimeInTurns(1, {}, slow.Time()).ok());
  EXPECT_EQ(slow.runs[0], 3u);
  Given fast({0.0});
  TimingOptions options;
  ASSERT_TRUE(TimeInTurns(1, options, fast.Time()).ok());
  EXPECT_EQ(fast.runs[0], 2 + options.rounds * options.most_times);
}

TEST(Timing, ErrorsEndIt) {
  const auto fails = [](size_t variant, uint32_t) -> Result<double> {
    if (variant == 1) return UnavailableError("lost");
    return 1.0;
  };
  const auto seconds = TimeInTurns(2, {}, fails);
  ASSERT_FALSE(seconds.ok());
  EXPECT_EQ(seconds.status().message(), "lost");
}

}  // namespace
}  // namespace berth::probe
