#include "policies/return_odds.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace berth::policies {
namespace {

constexpr double kSlow = 0.98, kFast = 0.875;

// Every unit of the class waits at each age up to `turns` and then returns.
void ReturnAlwaysAfter(ReturnOdds* odds, uint32_t klass, uint32_t turns, int times) {
  for (int i = 0; i < times; ++i) {
    for (uint32_t age = 0; age <= turns; ++age) odds->Sampled(klass, age);
    odds->Returned(klass, turns);
    odds->Cover(turns + 1, turns + 1);  // every wait was looked at
  }
  odds->RefreshAll();
}

TEST(ReturnOdds, ClassesAreHalfOctavesOfTheSlowCountAndFourStepsOfTheFast) {
  const ReturnOdds odds(kSlow, kFast, true);
  // 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48 up to 50; the fast count goes up to 8.
  EXPECT_EQ(odds.classes(), 12u * 4);
  EXPECT_EQ(odds.ClassOf(0.25F, 0.1F), 0u);
  EXPECT_EQ(odds.ClassOf(1, 1), 0u);
  EXPECT_EQ(odds.ClassOf(1.4375F, 1), 0u);
  EXPECT_EQ(odds.ClassOf(1.5F, 1), 1u);
  EXPECT_EQ(odds.ClassOf(2, 1), 2u);
  EXPECT_EQ(odds.ClassOf(31.9F, 1), 9u);
  EXPECT_EQ(odds.ClassOf(50, 1), 11u);
  EXPECT_EQ(odds.ClassOf(1, 1.67F), 0u);
  EXPECT_EQ(odds.ClassOf(1, 1.69F), 12u);
  EXPECT_EQ(odds.ClassOf(1, 2.84F), 24u);
  EXPECT_EQ(odds.ClassOf(50, 8), 47u);
}

TEST(ReturnOdds, BeforeAnythingIsSeenMoreTouchesAndLessAgeAreWorthMore) {
  const ReturnOdds odds(kSlow, kFast, true);
  for (uint32_t klass = 0; klass < odds.classes(); ++klass) {
    for (uint32_t age = 0; age < 100'000; age = age * 3 / 2 + 1) {
      const double worth = odds.Worth(klass, age);
      EXPECT_GT(worth, 0);
      EXPECT_LE(worth, 1);
      if (age > 0) {
        EXPECT_LE(worth, odds.Worth(klass, age - 1)) << klass << ' ' << age;
      }
      if (klass % 12 != 0) {
        EXPECT_GE(worth, odds.Worth(klass - 1, age)) << klass << ' ' << age;
      }
      if (klass >= 12) {
        EXPECT_GE(worth, odds.Worth(klass - 12, age)) << klass << ' ' << age;
      }
    }
  }
}

TEST(ReturnOdds, ALoopIsWorthMostJustBeforeItComesRound) {
  ReturnOdds odds(kSlow, kFast, true);
  ReturnAlwaysAfter(&odds, 5, 3, 20'000);
  EXPECT_GT(odds.Worth(5, 3), 0.9);
  for (uint32_t age = 1; age <= 3; ++age) EXPECT_GT(odds.Worth(5, age), odds.Worth(5, age - 1));
}

TEST(ReturnOdds, ClassesLeanOnWhatWasSeenOfOthers) {
  ReturnOdds odds(kSlow, kFast, true);
  const double before = odds.Worth(4, 1);
  for (int i = 0; i < 5000; ++i) {
    odds.Sampled(5, 1);  // and never returned
    odds.Cover(1, 1);
  }
  odds.RefreshAll();
  EXPECT_LT(odds.Worth(4, 1), before);
  EXPECT_LT(odds.Worth(5, 1), odds.Worth(4, 1));
}

TEST(ReturnOdds, OldEvidenceFades) {
  ReturnOdds odds(kSlow, kFast, true);
  ReturnAlwaysAfter(&odds, 5, 0, 100'000);
  const double learned = odds.Worth(5, 0);
  EXPECT_GT(learned, 0.99);
  for (int i = 0; i < 40; ++i) odds.Age();
  odds.RefreshAll();
  EXPECT_NEAR(odds.Worth(5, 0), ReturnOdds(kSlow, kFast, true).Worth(5, 0), 1e-3);
}

TEST(ReturnOdds, WithoutLearningThePriorStays) {
  ReturnOdds odds(kSlow, kFast, false);
  ReturnAlwaysAfter(&odds, 5, 0, 1000);
  for (int i = 0; i < 3; ++i) {
    odds.RefreshLate(0.9);
    odds.Returned(5, 0);
  }
  EXPECT_EQ(odds.Worth(5, 0), ReturnOdds(kSlow, kFast, true).Worth(5, 0));
}

// One in `waits` returns, of units of one class at one age, `looks` times.
void Wait(ReturnOdds* odds, int waits, int looks) {
  for (int i = 0; i < looks; ++i) {
    odds->Sampled(5, 2);
    odds->Cover(1, 1);
    if (waits > 0 && i % waits == 0) odds->Returned(5, 2);
  }
}

TEST(ReturnOdds, ReturnsOfLateScaleWhatWasLearned) {
  ReturnOdds odds(kSlow, kFast, true);
  Wait(&odds, 4, 20'000);
  odds.RefreshAll();
  const double learned = odds.Worth(5, 2), elsewhere = odds.Worth(4, 2), far = odds.Worth(5, 100);
  odds.RefreshLate(0.75);
  EXPECT_EQ(odds.Worth(5, 2), learned);  // begins to look
  // As before: nothing to scale.
  for (int i = 0; i < 20; ++i) {
    Wait(&odds, 4, 400);
    odds.RefreshLate(0.75);
  }
  EXPECT_NEAR(odds.Worth(5, 2), learned, 0.02 * learned);
  // None returns any more: of any class at about this age.
  for (int i = 0; i < 20; ++i) {
    Wait(&odds, 0, 400);
    odds.RefreshLate(0.75);
  }
  EXPECT_LT(odds.Worth(5, 2), 0.15 * learned);
  EXPECT_LT(odds.Worth(4, 2), 0.15 * elsewhere);
  EXPECT_EQ(odds.Worth(5, 100), far);
  // Twice as many; a fifth more is as far as it goes.
  for (int i = 0; i < 20; ++i) {
    Wait(&odds, 2, 400);
    odds.RefreshLate(0.75);
  }
  EXPECT_NEAR(odds.Worth(4, 2), std::min(1.0, 1.2 * elsewhere), 1e-9);
  for (uint32_t klass = 0; klass < odds.classes(); ++klass) EXPECT_LE(odds.Worth(klass, 2), 1);
}

TEST(ReturnOdds, OneRefreshAfterTheOtherIsAllOfThem) {
  ReturnOdds one(kSlow, kFast, true), all(kSlow, kFast, true);
  for (ReturnOdds* odds : {&one, &all}) {
    for (int i = 0; i < 500; ++i) {
      odds->Sampled(3, 2);
      odds->Returned(3, 2);
      odds->Cover(1, 1);
    }
  }
  uint32_t calls = 1;
  while (!one.RefreshOne()) ++calls;
  all.RefreshAll();
  EXPECT_EQ(calls, one.classes());
  for (uint32_t klass = 0; klass < one.classes(); ++klass) {
    for (uint32_t age = 0; age < 20; ++age) EXPECT_EQ(one.Worth(klass, age), all.Worth(klass, age));
  }
}

}  // namespace
}  // namespace berth::policies
