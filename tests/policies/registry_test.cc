#include <cmath>
#include <limits>

#include "tests/policies/pool.h"

namespace berth::policies {
namespace {

std::string ErrorOf(std::string_view spec, const PolicyOptions& options = Options(8, 4)) {
  const Result<std::unique_ptr<Policy>> policy = MakePolicy(spec, options);
  if (policy.ok()) return "made";
  EXPECT_EQ(policy.status().code(), StatusCode::kInvalidArgument) << spec;
  return std::string(policy.status().message());
}

TEST(Registry, MakesEveryPolicyItNames) {
  ASSERT_GE(Policies().size(), 3u);
  for (const PolicyInfo& info : Policies()) {
    EXPECT_EQ(MakeOrDie(info.name, WithNeedsOf(info.name, Options(8, 4)))->name(), info.name);
    EXPECT_FALSE(info.summary.empty());
  }
}

TEST(Registry, TakesParameters) {
  EXPECT_EQ(ErrorOf("lfu:decay=0.99"), "made");
  EXPECT_EQ(ErrorOf("lfu:decay=1"), "made");
  EXPECT_EQ(ErrorOf("lfu:decay=9.9e-1"), "made");
  EXPECT_EQ(ErrorOf("heat:pins=10%,decay=0.9,every=1"), "made");
  EXPECT_EQ(ErrorOf("heat:pins=33.3%"), "made");
  EXPECT_EQ(ErrorOf("clock:bits=8"), "made");
  EXPECT_EQ(ErrorOf("slru:segments=16"), "made");
  EXPECT_EQ(ErrorOf("s3-fifo:small=100%,ghost=0,threshold=3"), "made");
  EXPECT_EQ(ErrorOf("2q:in=0,out=4294967295"), "made");
  EXPECT_EQ(ErrorOf("hazard:slow=0.99,fast=0.9,bypass=0,learn=0,turns=0"), "made");
  EXPECT_EQ(ErrorOf("hazard:slow=0.9,fast=0.5"), "made");
}

TEST(Registry, UnknownNames) {
  EXPECT_EQ(
      ErrorOf("lfo"),
      "there is no policy 'lfo' (did you mean 'lfu'?); there are hazard, lru, lfu, heat, arc, "
      "slru, s3-fifo, 2q, sieve, clock, fifo, in-cache-lfu, static, random, belady");
  EXPECT_NE(ErrorOf("").find("there is no policy ''"), std::string::npos);
  EXPECT_NE(ErrorOf("LRU").find("there is no policy"), std::string::npos);
  EXPECT_EQ(ErrorOf("lru:decay=1"), "policy 'lru' has no parameter 'decay'; it takes none");
  EXPECT_EQ(ErrorOf("lfu:decya=0.9"),
            "policy 'lfu' has no parameter 'decya' (did you mean 'decay'?); it takes decay");
}

TEST(Registry, ValuesOutOfRangeOrNotNumbers) {
  EXPECT_EQ(ErrorOf("lfu:decay=1.5"), "policy 'lfu': decay=1.5 is not a number from 0.01 to 1");
  for (const char* bad : {"0", "0.00999", "-1", "+1", "nan", "inf", "0.9x", "0x1", " 1", "1 ", "1e",
                          "1e999", "1e-999", "0,9", "%"}) {
    EXPECT_NE(ErrorOf(std::string("lfu:decay=") + bad), "made") << bad;
  }
  for (const char* bad : {"101%", "-1", "-1%", "5.5", "4294967296", "99999999999999999999", "%",
                          "5%%", "nan%", "1e2"}) {
    EXPECT_NE(ErrorOf(std::string("heat:pins=") + bad), "made") << bad;
  }
  EXPECT_EQ(ErrorOf("heat:every=0"),
            "policy 'heat': every=0 is not a whole number from 1 to 1000000");
  for (const char* bad :
       {"clock:bits=0", "clock:bits=9", "slru:segments=0", "slru:segments=17",
        "s3-fifo:threshold=0", "s3-fifo:threshold=4", "s3-fifo:small=101%", "2q:in=-1", "2q:out=x",
        "arc:p=1", "sieve:bits=1", "fifo:x=1", "in-cache-lfu:decay=1", "random:seed=1",
        "hazard:slow=0.991", "hazard:fast=0.91", "hazard:bypass=2", "hazard:learn=yes"}) {
    EXPECT_NE(ErrorOf(bad), "made") << bad;
  }
}

TEST(Registry, SpecsThatDoNotParse) {
  EXPECT_EQ(ErrorOf("lfu:"), "policy 'lfu': '' is not key=value");
  for (const char* bad : {"lru:", "lfu:decay", "lfu:decay=", "lfu:=1", "lfu:decay=1,", "lfu:,",
                          "lfu:decay=1,,", "lfu:decay=0.9=1"}) {
    EXPECT_NE(ErrorOf(bad), "made") << bad;
  }
  EXPECT_EQ(ErrorOf("lfu:decay=1,decay=1"), "policy 'lfu': decay is given twice");
}

TEST(Registry, PoolsThatCannotBe) {
  EXPECT_NE(ErrorOf("lru", Options(0, 4)), "made");
  EXPECT_NE(ErrorOf("lru", Options(UINT32_MAX, 4)), "made");
  PolicyOptions options = Options(8, 4);
  options.first_unit = kNoUnit - 8;
  EXPECT_NE(ErrorOf("lru", options), "made");
  options.first_unit = kNoUnit - 9;
  EXPECT_EQ(ErrorOf("lru", options), "made");
}

TEST(Registry, ProfilesThatCannotBe) {
  std::vector<double> heat(7, 1);
  PolicyOptions options = Options(8, 4);
  options.heat = heat;
  EXPECT_EQ(ErrorOf("lfu", options),
            "the profile has 7 figures for a pool of 8 units: one per unit is needed");
  heat.resize(8, 1);
  options.heat = heat;
  EXPECT_EQ(ErrorOf("heat", options), "made");
  for (double bad : {-1.0, 2e18, std::nan(""), std::numeric_limits<double>::infinity()}) {
    heat[5] = bad;
    EXPECT_EQ(ErrorOf("heat", options),
              "the profile's figure for unit 5 is not a number from 0 to 1e18");
  }
}

using RegistryDeathTest = testing::Test;

TEST(RegistryDeathTest, BrokenInvariantsDoNotComputeOn) {
  for (const PolicyInfo& info : Policies()) {
    PolicyOptions options = WithNeedsOf(info.name, Options(8, 4));
    options.first_unit = 100;
    const auto policy = MakeOrDie(info.name, options);
    policy->BeginStep(1);
    policy->Inserted(103);
    EXPECT_DEATH(policy->Touched(99, false, 1), "outside") << info.name;
    EXPECT_DEATH(policy->Touched(108, false, 1), "outside") << info.name;
    EXPECT_DEATH(policy->Inserted(103), "resident") << info.name;
    EXPECT_DEATH(policy->Erased(104), "not resident") << info.name;
    EXPECT_DEATH(policy->Touched(104, true, 1), "not resident") << info.name;
  }
}

}  // namespace
}  // namespace berth::policies
