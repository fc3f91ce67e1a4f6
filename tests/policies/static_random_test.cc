// The policies that do not look at traffic.
#include "tests/policies/pool.h"

namespace berth::policies {
namespace {

using Units = std::vector<UnitIndex>;

TEST(Static, TheHottestStayAndTheOthersPassThrough) {
  const std::vector<double> heat = {5, 0, 9, 1, 7, 0, 3, 2};
  PolicyOptions options = Options(8, 3);
  options.heat = heat;
  const auto policy = MakeOrDie("static", options);
  Pool pool(*policy, options);
  EXPECT_EQ(policy->note(), "");
  EXPECT_EQ(pool.Step(1, {0, 1, 2, 3, 4, 5, 6, 7}), 8u);
  EXPECT_EQ(pool.Step(2, {0, 1, 2, 3, 4, 5, 6, 7}), 5u);
  for (UnitIndex unit : {0, 2, 4}) EXPECT_TRUE(pool.IsResident(unit)) << unit;
  EXPECT_TRUE(pool.victims().empty());
  // A pool that lost slots: the coldest leaves.
  policy->BeginStep(3);
  EXPECT_EQ(policy->NextVictim(pool), kNoUnit);  // all are the step's own
  pool.Step(4, {1});
  EXPECT_EQ(policy->NextVictim(pool), 0u);
}

TEST(Static, EquallyHotTheLowerIndexStays) {
  const std::vector<double> heat(8, 1);
  PolicyOptions options = Options(8, 3);
  options.first_unit = 100;
  options.heat = heat;
  const auto policy = MakeOrDie("static", options);
  for (UnitIndex unit = 100; unit < 108; ++unit) {
    EXPECT_EQ(policy->Admit(unit), unit < 103) << unit;
  }
}

TEST(Static, AShortProfileLeavesSlotsToWhoeverComesFirst) {
  const std::vector<double> heat = {0, 0, 9, 0, 0, 0, 0, 0};
  PolicyOptions options = Options(8, 3);
  options.heat = heat;
  const auto policy = MakeOrDie("static", options);
  EXPECT_EQ(policy->note(),
            "static: the profile has 1 units for 3 slots; the other 2 go to whoever comes first");
  Pool pool(*policy, options);
  EXPECT_EQ(pool.Step(1, {1, 3, 5}), 3u);
  EXPECT_EQ(pool.Step(2, {1, 3, 5, 2}), 2u);
  EXPECT_EQ(pool.Step(3, {1, 3, 5, 2}), 1u);
  pool.Fail(1);
  EXPECT_EQ(pool.Step(4, {5}), 1u);
  EXPECT_EQ(pool.Step(5, {1, 3, 5, 2}), 1u);
  EXPECT_TRUE(pool.victims().empty());
}

TEST(Static, WithoutAProfileItCannotBe) {
  const auto policy = MakePolicy("static", Options(8, 3));
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(policy.status().message(),
            "policy 'static' keeps the hottest units of a profile and there is none: give one, or "
            "choose another policy");
}

TEST(Random, TheSeedDecides) {
  std::vector<Units> steps;
  for (UnitIndex unit = 0; unit < 200; ++unit) steps.push_back({unit % 50});
  PolicyOptions options = Options(50, 10);
  const Units victims = VictimsOf("random", options, steps);
  EXPECT_EQ(VictimsOf("random", options, steps), victims);
  options.seed = 2;
  EXPECT_NE(VictimsOf("random", options, steps), victims);
}

TEST(Random, EveryUnitIsAsLikely) {
  const PolicyOptions options = Options(6, 6);
  const auto policy = MakeOrDie("random", options);
  Pool pool(*policy, options);
  pool.Step(1, {0, 1, 2, 3, 4, 5});
  std::vector<int> drawn(6);
  for (uint64_t pass = 2; pass < 4002; ++pass) {
    pool.Step(pass, {1, 4});  // not evictable
    ++drawn[policy->NextVictim(pool)];
  }
  for (UnitIndex unit = 0; unit < 6; ++unit) {
    if (unit == 1 || unit == 4) {
      EXPECT_EQ(drawn[unit], 0);
    } else {
      EXPECT_NEAR(drawn[unit], 1000, 140) << unit;  // five standard deviations
    }
  }
}

}  // namespace
}  // namespace berth::policies
