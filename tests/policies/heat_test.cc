#include <numeric>

#include "tests/policies/pool.h"

namespace berth::policies {
namespace {

using Units = std::vector<UnitIndex>;

struct AllEvictable final : Evictable {
  bool operator()(UnitIndex) const override { return true; }
};

Units Drain(Policy& policy) {
  Units order;
  while (true) {
    const UnitIndex unit = policy.NextVictim(AllEvictable());
    if (unit == kNoUnit) return order;
    order.push_back(unit);
    policy.Erased(unit);
  }
}

TEST(Heat, GoldenTraceWithAProfile) {
  const std::vector<double> heat = {0, 0, 9, 0, 0, 0};
  PolicyOptions options = Options(6, 4);
  options.heat = heat;
  const auto policy = MakeOrDie("heat:pins=1", options);
  Pool pool(*policy, options);
  uint64_t pass = 0;
  for (UnitIndex unit : {2, 0, 1, 3}) pool.Step(++pass, {unit});  // oldest first: (2) 0 1 3
  pool.Step(++pass, {0});                                         // (2) 1 3 0
  pool.Step(++pass, {4});                                         // 1 leaves: (2) 3 0 4
  pool.Step(++pass, {5});                                         // 3 leaves: (2) 0 4 5
  pool.Step(++pass, {1});                                         // 0 leaves
  EXPECT_EQ(pool.victims(), (Units{1, 3, 0}));
  EXPECT_EQ(policy->note(), "");
}

TEST(Heat, PinsAreChosenAnewAndTheOrderOfTheOthersIsKept) {
  PolicyOptions options = Options(8, 5);
  const auto policy = MakeOrDie("heat:pins=2,every=4,decay=0.5", options);
  Pool pool(*policy, options);
  pool.Step(10, {4, 3, 2, 1, 0});
  pool.Step(11, {4, 3});
  pool.Step(12, {2});
  pool.Step(13, {1});     // hottest now: 1 (1.1), 2 (0.6); no choice yet
  pool.Step(13, {5});     // so LRU: 0 leaves; oldest first: 4 3 2 1 5
  pool.Step(14, {6});     // chosen: 1 and 5; 4 leaves: 3 2 (1) (5) 6
  pool.Step(14, {0, 7});  // 3 and 2 leave: (1) (5) 6 0 7
  pool.Step(15, {3});     // 6 leaves: (1) (5) 0 7 3
  pool.Step(15, {3, 7});  // (1) (5) 0 3 7
  pool.Step(18, {3});     // chosen: 3 and 7
  pool.Step(18, {2});     // the pins of before leave first, as the oldest: 1
  pool.Step(18, {4});     // 5
  pool.Step(18, {6});     // 0
  EXPECT_EQ(pool.victims(), (Units{0, 4, 3, 2, 6, 1, 5, 0}));
}

TEST(Heat, AHotUnitIsPinnedAsItComesIn) {
  const std::vector<double> heat = {5, 0, 0, 0};
  PolicyOptions options = Options(4, 4);
  options.heat = heat;
  const auto policy = MakeOrDie("heat:pins=1", options);
  policy->BeginStep(1);
  policy->Inserted(0);
  policy->Inserted(1);
  EXPECT_EQ(Drain(*policy), (Units{1}));
  policy->Erased(0);  // a failed read may take a pinned unit out
  policy->Inserted(0);
  EXPECT_EQ(Drain(*policy), (Units{}));
}

TEST(Heat, AllSlotsPinnedLeavesVictims) {
  std::vector<double> heat(512);
  std::iota(heat.begin(), heat.end(), 1);
  PolicyOptions options = Options(512, 190, 10);
  options.heat = heat;
  const auto policy = MakeOrDie("heat:pins=190", options);
  EXPECT_EQ(policy->note(),
            "heat: pins lowered from 190 to 160 of 190 slots so that a step always finds victims");
  policy->BeginStep(1);
  for (UnitIndex unit = 322; unit < 512; ++unit) policy->Inserted(unit);  // the 190 hottest
  Units unpinned(30);
  std::iota(unpinned.begin(), unpinned.end(), 322);
  EXPECT_EQ(Drain(*policy), unpinned);
}

TEST(Heat, DefaultIsHalfOfTheSlots) {
  std::vector<double> heat(100, 1);
  PolicyOptions options = Options(100, 41, 2);
  options.heat = heat;
  for (const auto& [spec, unpinned] :
       {std::pair{"heat", 21}, {"heat:pins=25%", 31}, {"heat:pins=0", 41}, {"heat:pins=12", 29}}) {
    const auto policy = MakeOrDie(spec, options);
    EXPECT_EQ(policy->note(), "");
    policy->BeginStep(1);
    // Among equals the higher index is the hotter, so these hold all pins.
    for (UnitIndex unit = 59; unit < 100; ++unit) policy->Inserted(unit);
    EXPECT_EQ(Drain(*policy).size(), static_cast<size_t>(unpinned)) << spec;
  }
}

TEST(Heat, TooFewSlotsForAnyPinStillServe) {
  for (uint32_t top_k : {0u, 1u, 8u, 4'000'000'000u}) {
    std::vector<double> heat(16, 1);
    PolicyOptions options = Options(16, top_k == 0 ? 1 : 3, top_k);
    options.heat = heat;
    const auto policy = MakeOrDie("heat:pins=100%", options);
    EXPECT_NE(policy->note(), "");
    policy->BeginStep(1);
    policy->Inserted(3);
    EXPECT_EQ(Drain(*policy), (Units{3})) << top_k;
  }
}

}  // namespace
}  // namespace berth::policies
