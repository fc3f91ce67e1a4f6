#include "policies/decayed_counts.h"

#include "gtest/gtest.h"

namespace berth::policies {
namespace {

TEST(DecayedCounts, OneTouchOutweighsOlderOnesAsDecayed) {
  DecayedCounts counts(2, 0.5, {});
  counts.AdvanceTo(10);
  for (int i = 0; i < 7; ++i) counts.Touch(0);  // 7
  counts.AdvanceTo(12);
  counts.Touch(1);  // 1 against 7 / 4
  EXPECT_TRUE(counts.Colder(1, 0));
  counts.Touch(1);  // 2 against 7 / 4
  EXPECT_TRUE(counts.Colder(0, 1));
}

TEST(DecayedCounts, OrderIsAsTotalAsItSays) {
  DecayedCounts counts(4, 0.98, {});
  counts.AdvanceTo(0);
  counts.Touch(3);
  counts.Touch(2);
  EXPECT_TRUE(counts.Colder(3, 2));  // equal counts, touched longer ago
  EXPECT_TRUE(counts.Colder(0, 1));  // never touched: by index
  EXPECT_FALSE(counts.Colder(1, 0));
  EXPECT_FALSE(counts.Colder(1, 1));
  EXPECT_TRUE(counts.IsZero(0));
  EXPECT_FALSE(counts.IsZero(3));
}

TEST(DecayedCounts, RescalingKeepsTheOrder) {
  DecayedCounts counts(3, 0.5, {});
  counts.AdvanceTo(0);
  counts.Touch(0);
  counts.Touch(0);
  counts.Touch(0);
  counts.AdvanceTo(1);
  counts.Touch(1);  // 2 against 3
  int rescaled = 0;
  for (uint64_t pass = 2; pass < 1000; ++pass) {
    rescaled += counts.AdvanceTo(pass);
    ASSERT_TRUE(counts.Colder(1, 0)) << pass;
    ASSERT_TRUE(counts.Colder(2, 1)) << pass;
  }
  EXPECT_EQ(rescaled, 1);  // the weight passes 2^512 at pass 513
  EXPECT_FALSE(counts.IsZero(1));
}

TEST(DecayedCounts, WhatIsForgottenIsZeroAndRecencyDecides) {
  DecayedCounts counts(2, 0.98, {});
  counts.AdvanceTo(0);
  counts.Touch(0);
  counts.Touch(0);
  counts.Touch(1);
  EXPECT_TRUE(counts.Colder(1, 0));
  EXPECT_TRUE(counts.AdvanceTo(1'000'000));
  EXPECT_TRUE(counts.IsZero(0));
  EXPECT_TRUE(counts.Colder(0, 1));
  counts.Touch(0);  // the weight is still a number
  counts.AdvanceTo(1'000'001);
  counts.Touch(1);
  EXPECT_TRUE(counts.Colder(0, 1));
  EXPECT_FALSE(counts.IsZero(0));
}

TEST(DecayedCounts, AnyLeapEndsSoon) {
  for (double decay : {0.01, 0.5, 0.98, 1 - 1e-9, 1 - 0x1p-53, 1.0}) {
    DecayedCounts counts(2, decay, {});
    counts.AdvanceTo(0);
    counts.Touch(0);
    counts.AdvanceTo(UINT64_MAX / 2);
    counts.AdvanceTo(UINT64_MAX);
    counts.Touch(1);
    counts.Touch(1);
    EXPECT_TRUE(counts.Colder(0, 1)) << decay;
    EXPECT_EQ(counts.IsZero(0), decay < 1) << decay;
  }
}

TEST(DecayedCounts, AStartIsWorthItsTouchesAtTheFirstPass) {
  const double start[] = {1.5, 0};
  DecayedCounts counts(2, 0.5, start);
  EXPECT_FALSE(counts.AdvanceTo(1'000'000'000));
  counts.Touch(1);
  EXPECT_TRUE(counts.Colder(1, 0));
  counts.Touch(1);
  EXPECT_TRUE(counts.Colder(0, 1));
}

using DecayedCountsDeathTest = testing::Test;

TEST(DecayedCountsDeathTest, PassesDoNotGoBack) {
  DecayedCounts counts(2, 0.98, {});
  counts.AdvanceTo(5);
  EXPECT_DEATH(counts.AdvanceTo(4), "pass");
}

}  // namespace
}  // namespace berth::policies
