#include <list>

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

// The rule in its plainest form.
class ListLru final : public Policy {
 public:
  std::string_view name() const override { return "model"; }
  void BeginStep(uint64_t) override {}
  void Touched(UnitIndex unit, bool resident) override {
    if (!resident) return;
    Erased(unit);
    Inserted(unit);
  }
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override { list_.push_back(unit); }
  void Erased(UnitIndex unit) override { list_.remove(unit); }
  UnitIndex NextVictim(const Evictable& evictable) override {
    for (UnitIndex unit : list_) {
      if (evictable(unit)) return unit;
    }
    return kNoUnit;
  }

 private:
  std::list<UnitIndex> list_;
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

TEST(Lru, EqualsAListOnRandomTraffic) {
  PolicyOptions options = Options(100, 20);
  options.first_unit = 1000;
  const auto policy = MakeOrDie("lru", options);
  ListLru model;
  Pool pool(*policy, options), model_pool(model, options);
  Drive(options, &pool);
  Drive(options, &model_pool);
  EXPECT_GT(pool.victims().size(), 5000u);
  EXPECT_EQ(pool.victims(), model_pool.victims());
}

}  // namespace
}  // namespace berth::policies
