#include "policies/refusals.h"

#include "gtest/gtest.h"

namespace berth::policies {
namespace {

// `wrong` of every ten answers, `tens` times.
void Judge(Refusals* refusals, int wrong, int tens) {
  for (int i = 0; i < 10 * tens; ++i) refusals->Judged(i % 10 >= wrong);
}

TEST(Refusals, AreRightUntilShownWrong) {
  Refusals refusals;
  EXPECT_FALSE(refusals.Losing());
  for (int i = 0; i < 15; ++i) refusals.Judged(false);
  EXPECT_FALSE(refusals.Losing());
  for (int i = 0; i < 5; ++i) refusals.Judged(false);
  EXPECT_TRUE(refusals.Losing());
}

TEST(Refusals, MayBeWrongAsOftenAsRight) {
  Refusals refusals;
  Judge(&refusals, 5, 200);
  EXPECT_FALSE(refusals.Losing());
  Judge(&refusals, 7, 200);
  EXPECT_TRUE(refusals.Losing());
}

TEST(Refusals, AreTrustedAgainOnceTheyWouldHaveBeenRight) {
  Refusals refusals;
  Judge(&refusals, 10, 1000);
  EXPECT_TRUE(refusals.Losing());
  Judge(&refusals, 3, 100);
  EXPECT_FALSE(refusals.Losing());
}

}  // namespace
}  // namespace berth::policies
