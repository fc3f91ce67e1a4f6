// What a policy has learned, given to a new one: the same units leave in the same order.
#include <algorithm>
#include <numeric>

#include "policies/access_play.h"
#include "tests/policies/pool.h"
#include "tests/policies/traffic.h"

namespace berth::policies {
namespace {

constexpr uint32_t kUnits = 80, kSlots = 24;

PolicyOptions LearningOptions(std::string_view policy) {
  PolicyOptions options = WithNeedsOf(policy, Options(kUnits, kSlots, 2));
  options.first_unit = 100;
  return options;
}

std::unique_ptr<Policy> Experienced(std::string_view spec, uint64_t passes) {
  const PolicyOptions options = LearningOptions(spec);
  auto policy = MakeOrDie(spec, options);
  Pool pool(*policy, options);
  Traffic traffic(passes, options.first_unit, options.units);
  for (uint64_t pass = 0; pass < passes; ++pass) {
    pool.Step(pass, traffic.Draw(1 + traffic.Below(6)));
    if (traffic.Below(5) == 0) pool.Prefetch(pass, traffic.Draw(2));
  }
  return policy;
}

std::vector<double> LearnedBy(const Policy& policy) {
  std::vector<double> heat(kUnits, -1);
  policy.Learned(heat);
  return heat;
}

// Everybody leaves.
std::vector<UnitIndex> Drain(Policy* policy, uint64_t pass) {
  std::vector<UnitIndex> order;
  policy->BeginStep(pass);
  for (UnitIndex unit; (unit = policy->NextVictim(Anyone())) != kNoUnit;) {
    order.push_back(unit);
    policy->Erased(unit);
  }
  return order;
}

std::unique_ptr<Policy> Warm(std::string_view spec, const std::vector<double>& heat) {
  PolicyOptions options = LearningOptions(spec);
  options.heat = heat;
  auto policy = MakeOrDie(spec, options);
  std::vector<uint32_t> known;
  for (uint32_t unit = 0; unit < kUnits; ++unit) {
    if (heat[unit] > 0) known.push_back(unit);
  }
  std::stable_sort(known.begin(), known.end(),
                   [&](uint32_t a, uint32_t b) { return heat[a] < heat[b]; });
  policy->BeginStep(0);
  for (size_t at = known.size() - std::min<size_t>(known.size(), kSlots); at < known.size(); ++at) {
    policy->Inserted(options.first_unit + known[at]);
  }
  return policy;
}

class LearnedOrder : public testing::TestWithParam<std::string_view> {};

TEST_P(LearnedOrder, ComesBack) {
  for (uint64_t passes : {3, 30, 500, 501, 502}) {
    const auto policy = Experienced(GetParam(), passes);
    const std::vector<double> heat = LearnedBy(*policy);
    EXPECT_EQ(LearnedBy(*policy), heat);  // asking changes nothing
    const auto warm = Warm(GetParam(), heat);
    const std::vector<UnitIndex> expected = Drain(policy.get(), passes);
    EXPECT_GT(expected.size(), 3u);
    EXPECT_EQ(Drain(warm.get(), 1), expected) << passes;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LearnedOrder,
                         testing::Values("lru", "fifo", "clock", "clock:bits=3", "sieve", "slru",
                                         "2q", "arc", "s3-fifo", "in-cache-lfu"),
                         [](const auto& info) { return TestName(info.param); });

// Counts decay and have no memory of who was touched last, so equal ones are ordered anew.
TEST(LearnedCounts, ComeBackForThePolicyThatOrdersByThem) {
  const auto policy = Experienced("lfu", 400);
  const std::vector<double> heat = LearnedBy(*policy);
  EXPECT_EQ(*std::min_element(heat.begin(), heat.end()) >= 0, true);
  const auto warm = Warm("lfu", heat);
  const std::vector<double> again = LearnedBy(*warm);
  EXPECT_EQ(again, heat);
  double last = 0;
  const std::vector<UnitIndex> order = Drain(warm.get(), 1);
  EXPECT_EQ(order.size(), kSlots);
  for (const UnitIndex unit : order) {
    EXPECT_GE(heat[unit - 100], last);
    last = heat[unit - 100];
  }
}

TEST(LearnedCounts, AreTouchesAsOfNow) {
  const PolicyOptions options = Options(4, 2);
  for (const char* spec : {"lfu:decay=0.5", "heat:decay=0.5"}) {
    const auto policy = MakeOrDie(spec, options);
    Pool pool(*policy, options);
    pool.Step(1, {0, 1});
    pool.Step(3, {1, 2});
    std::vector<double> heat(4);
    policy->Learned(heat);
    EXPECT_EQ(heat, (std::vector<double>{0.25, 1.25, 1, 0})) << spec;
  }
}

TEST(LearnedCounts, OfTheOthers) {
  const std::vector<double> none(kUnits, 0.0), ones(kUnits, 1.0);
  EXPECT_EQ(LearnedBy(*Experienced("belady:admit=always", 50)), none);
  EXPECT_EQ(LearnedBy(*Experienced("static", 50)), ones);
  const std::vector<double> resident = LearnedBy(*Experienced("random", 50));
  EXPECT_EQ(std::accumulate(resident.begin(), resident.end(), 0.0), kSlots);
}

}  // namespace
}  // namespace berth::policies
