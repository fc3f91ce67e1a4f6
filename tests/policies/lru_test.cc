#include <map>
#include <set>

#include "tests/policies/pool.h"
#include "tests/policies/traffic.h"

namespace berth::policies {
namespace {

using Units = std::vector<UnitIndex>;

TEST(Lru, GoldenTrace) {
  const PolicyOptions options = Options(10, 3);
  const auto policy = MakeOrDie("lru", options);
  Pool pool(*policy, options);
  uint64_t pass = 0;
  for (UnitIndex unit : {1, 2, 3}) pool.Step(++pass, {unit});  // oldest first: 1 2 3
  pool.Step(++pass, {1});                                      // 2 3 1
  pool.Step(++pass, {4});                                      // 2 leaves: 3 1 4
  pool.Step(++pass, {5});                                      // 3 leaves: 1 4 5
  pool.Step(++pass, {1});                                      // 4 5 1
  pool.Step(++pass, {6});                                      // 4 leaves: 5 1 6
  pool.Step(++pass, {7, 5, 8});                                // 1 6 5, then 1 and 6 leave
  EXPECT_EQ(pool.victims(), (Units{2, 3, 4, 1, 6}));
}

TEST(Lru, AStepLargerThanThePoolRunsOutOfVictims) {
  const PolicyOptions options = Options(10, 3);
  const auto policy = MakeOrDie("lru", options);
  Pool pool(*policy, options);
  pool.Step(1, {0, 1, 2});
  EXPECT_EQ(pool.Step(2, {3, 4, 5, 6, 7}), 5u);
  EXPECT_EQ(pool.victims(), (Units{0, 1, 2}));
  EXPECT_EQ(pool.most_withheld(), 0u);
}

// Hits do not stand before the misses of their step: 4 was touched before 2.
TEST(Lru, AStepsUnitsStandInTheOrderOfTheirTouches) {
  const PolicyOptions options = Options(10, 3);
  const auto policy = MakeOrDie("lru", options);
  Pool pool(*policy, options);
  pool.Step(1, {1, 2, 3});
  pool.Step(2, {4, 2});  // 1 leaves: 3 4 2
  pool.Step(3, {5});     // 3 leaves: 4 2 5
  pool.Step(4, {6});     // 4 leaves: 2 5 6
  EXPECT_EQ(pool.victims(), (Units{1, 3, 4}));
}

TEST(Lru, ATouchedUnitThatDoesNotComeInLosesItsPlace) {
  const PolicyOptions options = Options(10, 3);
  const auto policy = MakeOrDie("lru", options);
  Pool pool(*policy, options);
  pool.Step(1, {1, 2, 3});
  policy->BeginStep(2);
  policy->Touched(4, false, 1);
  EXPECT_EQ(policy->NextVictim(pool), kNoUnit);  // all are of the step
  pool.Step(3, {2});
  const std::vector<UnitIndex> hinted = {4};
  pool.Prefetch(3, hinted);  // 1 leaves: 3 2 4
  pool.Step(4, {5, 6});      // 3 and 2 leave: 4 5 6
  pool.Step(5, {7});
  EXPECT_EQ(pool.victims(), (Units{1, 3, 2, 4}));
}

// The rule in its plainest form: when each unit was used last.
class TimedLru final : public Policy {
 public:
  std::string_view name() const override { return "model"; }
  void BeginStep(uint64_t) override { touched_.clear(); }
  void Touched(UnitIndex unit, bool, uint32_t) override {
    used_[unit] = ++now_;
    touched_.insert(unit);
  }
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override {
    resident_.insert(unit);
    if (!touched_.contains(unit)) used_[unit] = ++now_;
  }
  void Erased(UnitIndex unit) override { resident_.erase(unit); }
  UnitIndex NextVictim(const Evictable& evictable) override {
    UnitIndex victim = kNoUnit;
    for (UnitIndex unit : resident_) {
      if (evictable(unit) && (victim == kNoUnit || used_[unit] < used_[victim])) victim = unit;
    }
    return victim;
  }
  void Learned(std::span<double>) const override {}

 private:
  std::map<UnitIndex, uint64_t> used_;
  std::set<UnitIndex> resident_, touched_;  // touched: by this step
  uint64_t now_ = 0;
};

void Drive(const PolicyOptions& options, Pool* pool) {
  Traffic traffic(7, options.first_unit, options.units);
  for (uint64_t pass = 0; pass < 5000; ++pass) {
    pool->Step(pass, traffic.Draw(1 + traffic.Below(12)));
    if (traffic.Below(4) == 0) pool->Prefetch(pass, traffic.Draw(3));
    const UnitIndex unit = traffic.Draw(1)[0];
    if (traffic.Below(8) == 0 && pool->IsResident(unit)) pool->Fail(unit);
  }
}

TEST(Lru, EqualsTimesOfUseOnRandomTraffic) {
  PolicyOptions options = Options(100, 20);
  options.first_unit = 1000;
  const auto policy = MakeOrDie("lru", options);
  TimedLru model;
  Pool pool(*policy, options), model_pool(model, options);
  Drive(options, &pool);
  Drive(options, &model_pool);
  EXPECT_GT(pool.victims().size(), 5000u);
  EXPECT_EQ(pool.victims(), model_pool.victims());
}

}  // namespace
}  // namespace berth::policies
