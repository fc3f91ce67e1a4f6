// The random numbers under synthetic traces: distributions, and the same bits everywhere.
#include "runtime/synth/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/synth/weighted_set.h"

namespace berth::synth {
namespace {

CounterRandom Numbers(uint64_t seed = 1) { return CounterRandom(seed, Purpose::kRouting); }

TEST(CounterRandom, TheSameBitsOnEveryMachine) {
  CounterRandom random(7, Purpose::kRouting, 3, 2);
  EXPECT_EQ(random.Bits(), 15100519467371151125u);
  EXPECT_EQ(random.Below(1000), 21u);
  EXPECT_EQ(random.Uniform(), 0x1.45e58b58d5b6p-3);
  EXPECT_EQ(random.Normal(), -0x1.487b2d795552ep-2);
}

TEST(CounterRandom, EveryPartOfTheKeyMatters) {
  const uint64_t bits = CounterRandom(7, Purpose::kRouting, 3, 2).Bits();
  EXPECT_NE(bits, CounterRandom(8, Purpose::kRouting, 3, 2).Bits());
  EXPECT_NE(bits, CounterRandom(7, Purpose::kSigmas, 3, 2).Bits());
  EXPECT_NE(bits, CounterRandom(7, Purpose::kRouting, 2, 3).Bits());
}

TEST(CounterRandom, NormalNumbersAreNormal) {
  CounterRandom random = Numbers();
  std::vector<double> values(400000);
  for (double& value : values) value = random.Normal();
  double mean = 0, square = 0, fourth = 0;
  for (const double value : values) {
    mean += value;
    square += value * value;
    fourth += value * value * value * value;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(mean / count, 0, 0.01);
  EXPECT_NEAR(square / count, 1, 0.01);
  EXPECT_NEAR(fourth / count, 3, 0.1);
  std::sort(values.begin(), values.end());
  for (size_t at = 0; at < values.size(); at += 400) {
    const double expected = 0.5 * std::erfc(-values[at] / std::sqrt(2.0));
    EXPECT_NEAR(static_cast<double>(at) / count, expected, 0.004) << values[at];
  }
}

TEST(Exponential, IsTheExponential) {
  for (double x = -100; x <= 100; x += 0.37) {
    EXPECT_NEAR(Exponential(x) / std::exp(x), 1, 1e-8) << x;
  }
  EXPECT_EQ(PowerOfTwo(-3), 0.125);
  EXPECT_EQ(PowerOfTwo(10), 1024);
}

TEST(WeightedSet, DrawsByWeightWithoutReplacement) {
  // More than one block, the last one not full.
  constexpr uint32_t kExperts = 20;
  WeightedSet set(kExperts);
  std::array<uint64_t, kExperts> weights;
  uint64_t total = 0;
  for (uint32_t expert = 0; expert < kExperts; ++expert) {
    weights[expert] = 1 + expert * expert;
    total += weights[expert];
  }
  set.SetBlock(0, std::span(weights).first(16));
  set.SetBlock(1, std::span(weights).subspan(16));

  CounterRandom random = Numbers();
  std::array<uint32_t, kExperts> first{};
  constexpr uint32_t kRounds = 100000;
  for (uint32_t round = 0; round < kRounds; ++round) {
    ++first[set.Draw(&random)];
    set.PutBack();
  }
  for (uint32_t expert = 0; expert < kExperts; ++expert) {
    const double share = static_cast<double>(weights[expert]) / static_cast<double>(total);
    EXPECT_NEAR(first[expert] / static_cast<double>(kRounds), share, 0.005) << expert;
  }

  for (uint32_t round = 0; round < 100; ++round) {
    std::array<bool, kExperts> drawn{};
    set.Take(5);
    drawn[5] = true;
    for (uint32_t draw = 1; draw < kExperts; ++draw) {
      const uint32_t expert = set.Draw(&random);
      ASSERT_FALSE(drawn[expert]);
      drawn[expert] = true;
    }
    set.PutBack();
    EXPECT_FALSE(set.IsTaken(5));
  }
}

}  // namespace
}  // namespace berth::synth
