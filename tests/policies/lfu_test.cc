#include <cmath>

#include "tests/policies/pool.h"
#include "tests/policies/traffic.h"

namespace berth::policies {
namespace {

using Units = std::vector<UnitIndex>;

struct AllEvictable final : Evictable {
  bool operator()(UnitIndex) const override { return true; }
};

TEST(Lfu, GoldenTraceWithoutDecay) {
  const PolicyOptions options = Options(4, 2);
  const auto policy = MakeOrDie("lfu:decay=1", options);
  Pool pool(*policy, options);
  uint64_t pass = 0;
  for (int i = 0; i < 3; ++i) pool.Step(++pass, {0});  // counts 3
  pool.Step(++pass, {1});                              // 3 1
  pool.Step(++pass, {2});                              // 3 (1) 1: 1 leaves
  pool.Step(++pass, {1});                              // 3 2 (1): 2 leaves; the count of 1 survived
  pool.Step(++pass, {2});                              // 3 (2) 2: 1 leaves
  pool.Step(++pass, {1});                              // 3 3 (2): 2 leaves
  pool.Step(++pass, {2});  // (3) 3 3: 0 and 1 tie, 0 was touched longer ago
  EXPECT_EQ(pool.victims(), (Units{1, 2, 1, 2, 0}));
}

TEST(Lfu, GoldenTraceWithDecay) {
  const PolicyOptions options = Options(4, 2);
  const auto policy = MakeOrDie("lfu:decay=0.5", options);
  Pool pool(*policy, options);
  pool.Step(1, {0});  // in touches of pass 1: a touch of pass p weighs 2^(p-1)
  pool.Step(1, {0});
  pool.Step(1, {0});  // 0: 3
  pool.Step(2, {1});  // 1: 2
  pool.Step(2, {2});  // 2: 2; 1 leaves (2 < 3)
  pool.Step(3, {1});  // 1: 2 + 4 = 6; 2 leaves (2 < 3)
  pool.Step(4, {2});  // 2: 2 + 8 = 10; 0 leaves (3 < 6) though it was touched most often
  pool.Step(5, {0});  // 0: 3 + 16 = 19; 1 leaves (6 < 10)
  pool.Step(6, {3});  // 3: 32; 2 leaves (10 < 19)
  EXPECT_EQ(pool.victims(), (Units{1, 2, 0, 1, 2}));
}

TEST(Lfu, TiesOfUntouchedUnitsGoByIndexAndAProfileByItsFigures) {
  const std::vector<double> heat = {0, 0, 0, 0.5, 2, 0.25};
  PolicyOptions options = Options(6, 6);
  options.heat = heat;
  const auto policy = MakeOrDie("lfu", options);
  policy->BeginStep(1'000'000);  // a start at any pass: the profile holds for the first one
  for (UnitIndex unit : {5, 4, 3, 2, 1, 0}) policy->Inserted(unit);
  Units order;
  for (int i = 0; i < 6; ++i) {
    order.push_back(policy->NextVictim(AllEvictable()));
    policy->Erased(order.back());
  }
  EXPECT_EQ(order, (Units{0, 1, 2, 5, 3, 4}));
  EXPECT_EQ(policy->NextVictim(AllEvictable()), kNoUnit);
}

TEST(Lfu, TiesThatALongPauseMakesGoByRecency) {
  const auto policy = MakeOrDie("lfu", Options(2, 2));
  policy->BeginStep(1);
  policy->Touched(0, false, 1);
  policy->Touched(0, false, 1);
  policy->Touched(1, false, 1);
  policy->Inserted(0);
  policy->Inserted(1);
  EXPECT_EQ(policy->NextVictim(AllEvictable()), 1u);
  policy->BeginStep(1'000'000);
  EXPECT_EQ(policy->NextVictim(AllEvictable()), 0u);
}

TEST(Lfu, ParkedUnitsMayBeTouchedAndErased) {
  const auto policy = MakeOrDie("lfu:decay=1", Options(5, 5));
  struct Only final : Evictable {
    UnitIndex only;
    bool operator()(UnitIndex unit) const override { return unit == only; }
  } only;
  policy->BeginStep(1);
  for (UnitIndex unit = 0; unit < 5; ++unit) {
    for (UnitIndex i = 0; i <= unit; ++i) policy->Touched(unit, false, 1);  // count unit + 1
    policy->Inserted(unit);
  }
  only.only = 3;
  EXPECT_EQ(policy->NextVictim(only), 3u);  // parks 0, 1 and 2
  policy->Erased(1);
  for (int i = 0; i < 9; ++i) policy->Touched(0, true, 1);  // 10
  policy->Erased(3);
  policy->Inserted(3);  // 4, while others are parked
  EXPECT_EQ(policy->NextVictim(only), 3u);
  policy->BeginStep(2);
  Units order;
  for (int i = 0; i < 4; ++i) {
    order.push_back(policy->NextVictim(AllEvictable()));
    policy->Erased(order.back());
  }
  EXPECT_EQ(order, (Units{2, 3, 4, 0}));
  EXPECT_EQ(policy->NextVictim(AllEvictable()), kNoUnit);
}

// Decays every count at every pass, searches all units, in a wider type. It watches the policy that
// it wraps: each victim must be the one with the lowest count up to what double rounds away.
class Judge final : public Policy {
 public:
  Judge(Policy& policy, uint32_t units, long double decay)
      : policy_(policy), units_(units), decay_(decay) {}

  std::string_view name() const override { return "judge"; }
  void BeginStep(uint64_t pass) override {
    const long double factor = std::pow(decay_, static_cast<long double>(pass - pass_));
    pass_ = pass;
    for (Unit& unit : units_) unit.count *= factor;
    policy_.BeginStep(pass);
  }
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override {
    units_[unit].count += 1;
    units_[unit].last = ++touches_;
    policy_.Touched(unit, resident, rows);
  }
  void Learned(std::span<double> heat) const override { policy_.Learned(heat); }
  bool Admit(UnitIndex unit) override { return policy_.Admit(unit); }
  void Inserted(UnitIndex unit) override {
    units_[unit].resident = true;
    policy_.Inserted(unit);
  }
  void Erased(UnitIndex unit) override {
    units_[unit].resident = false;
    policy_.Erased(unit);
  }
  UnitIndex NextVictim(const Evictable& evictable) override {
    UnitIndex best = kNoUnit;
    for (UnitIndex unit = 0; unit < units_.size(); ++unit) {
      if (!units_[unit].resident || !evictable(unit)) continue;
      if (best == kNoUnit || Before(units_[unit], units_[best])) best = unit;
    }
    const UnitIndex victim = policy_.NextVictim(evictable);
    ++victims_;
    if (victim == best) return victim;
    ++close_calls_;
    EXPECT_NE(victim, kNoUnit);
    EXPECT_NE(best, kNoUnit);
    if (victim == kNoUnit || best == kNoUnit) return victim;
    EXPECT_LE(units_[victim].count, units_[best].count * (1 + kRounding));
    return victim;
  }

  size_t victims() const { return victims_; }
  size_t close_calls() const { return close_calls_; }

 private:
  static constexpr long double kRounding = 1e-11L;
  struct Unit {
    long double count = 0;
    uint64_t last = 0;
    bool resident = false;
  };
  // Units are visited by index, so equals keep the lower one.
  static bool Before(const Unit& a, const Unit& b) {
    return a.count != b.count ? a.count < b.count : a.last < b.last;
  }

  Policy& policy_;
  std::vector<Unit> units_;
  long double decay_;
  uint64_t pass_ = 0;
  uint64_t touches_ = 0;
  size_t victims_ = 0;
  size_t close_calls_ = 0;
};

// Passes enough for four rescalings at decay 0.9 (one in 3,368), so the counts cross them.
size_t RunJudged(std::string_view spec, long double decay) {
  const PolicyOptions options = Options(80, 24);
  const auto policy = MakeOrDie(spec, options);
  Judge judge(*policy, options.units, decay);
  Pool pool(judge, options);
  Traffic traffic(11, 0, options.units);
  uint64_t pass = 0;
  for (int step = 0; step < 7000; ++step) {
    pass += traffic.Below(5);
    pool.Step(pass, traffic.Draw(1 + traffic.Below(12)));
    if (traffic.Below(4) == 0) pool.Prefetch(pass, traffic.Draw(3));
    const UnitIndex unit = traffic.Draw(1)[0];
    if (traffic.Below(8) == 0 && pool.IsResident(unit)) pool.Fail(unit);
  }
  EXPECT_GT(pass, 13500u);
  EXPECT_GT(judge.victims(), 10000u);
  EXPECT_LT(judge.close_calls(), judge.victims() / 200);
  return judge.close_calls();
}

TEST(Lfu, EqualsASearchOnRandomTraffic) {
  RunJudged("lfu:decay=0.9", 0.9L);
  RunJudged("lfu", 0.98L);
}

TEST(Lfu, EqualsASearchExactlyWhereCountsAreWhole) { EXPECT_EQ(RunJudged("lfu:decay=1", 1), 0u); }

}  // namespace
}  // namespace berth::policies
