// What every registered policy promises, on random operations: a new row of the registry is tested
// here without a line being added.
#include "tests/new_counter.h"
#include "tests/policies/pool.h"
#include "tests/policies/traffic.h"

namespace berth::policies {
namespace {

// Passes calls on and counts what they allocate.
class Watched final : public Policy {
 public:
  explicit Watched(Policy& policy) : policy_(policy) {}

  std::string_view name() const override { return policy_.name(); }
  void BeginStep(uint64_t pass) override {
    Count([&] { policy_.BeginStep(pass); });
  }
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override {
    Count([&] { policy_.Touched(unit, resident, rows); });
  }
  bool Admit(UnitIndex unit) override {
    bool admitted = false;
    Count([&] { admitted = policy_.Admit(unit); });
    return admitted;
  }
  void Inserted(UnitIndex unit) override {
    Count([&] { policy_.Inserted(unit); });
  }
  void Erased(UnitIndex unit) override {
    Count([&] { policy_.Erased(unit); });
  }
  UnitIndex NextVictim(const Evictable& evictable) override {
    UnitIndex victim = kNoUnit;
    Count([&] { victim = policy_.NextVictim(evictable); });
    return victim;
  }
  void Learned(std::span<double> heat) const override { policy_.Learned(heat); }

  size_t allocated() const { return allocated_; }

 private:
  template <typename Call>
  void Count(Call call) {
    const size_t before = NewCalls();
    call();
    allocated_ += NewCalls() - before;
  }

  Policy& policy_;
  size_t allocated_ = 0;
};

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  // Units that a policy may keep back though they are evictable.
  static size_t MostWithheld(const PolicyOptions& options) {
    return GetParam() == "heat" ? options.slots - 3 * options.top_k : 0;
  }
  // Some policies let no more units in than there are slots: nobody has to leave.
  static bool AdmitsNone() { return GetParam() == "static"; }
  // Some refuse units that are not worth another's slot.
  static bool AdmitsAll() { return !AdmitsNone() && GetParam() != "hazard"; }
};

PolicyOptions RandomOptions(std::string_view policy) {
  PolicyOptions options = WithNeedsOf(policy, Options(64, 24, 2));
  options.first_unit = 100;
  return options;
}

std::vector<UnitIndex> RunRandom(Policy& policy, const PolicyOptions& options, size_t* withheld) {
  Pool pool(policy, options);
  Traffic traffic(3, options.first_unit, options.units);
  uint64_t pass = 0;
  for (int step = 0; step < 20000; ++step) {
    pass += traffic.Below(3);
    if (traffic.Below(5000) == 0) pass += 100000;
    // Now and then more than the slots: the step runs out of victims.
    pool.Step(pass, traffic.Draw(1 + traffic.Below(traffic.Below(10) == 0 ? 40 : 12)));
    if (traffic.Below(4) == 0) pool.Prefetch(pass, traffic.Draw(1 + traffic.Below(5)));
    const UnitIndex unit = traffic.Draw(1)[0];
    if (traffic.Below(8) == 0 && pool.IsResident(unit)) pool.Fail(unit);
  }
  *withheld = pool.most_withheld();
  return pool.victims();
}

TEST_P(Conformance, RandomOperations) {
  const PolicyOptions options = RandomOptions(GetParam());
  const auto policy = MakeOrDie(GetParam(), options);
  Watched watched(*policy);
  size_t withheld = 0;
  const std::vector<UnitIndex> victims = RunRandom(watched, options, &withheld);
  if (AdmitsAll()) {
    EXPECT_GT(victims.size(), 20000u);
  } else if (AdmitsNone()) {
    EXPECT_EQ(victims.size(), 0u);
  } else {
    EXPECT_GT(victims.size(), 5000u);
  }
  EXPECT_LE(withheld, MostWithheld(options));
  EXPECT_EQ(watched.allocated(), 0u);

  // The same calls again, the same decisions.
  const auto again = MakeOrDie(GetParam(), options);
  EXPECT_EQ(RunRandom(*again, options, &withheld), victims);
}

TEST(BeladyConformance, LettingUnitsPassAllocatesNothing) {
  const PolicyOptions options = RandomOptions("belady");
  const auto policy = MakeOrDie("belady", options);
  Watched watched(*policy);
  size_t withheld = 0;
  EXPECT_GT(RunRandom(watched, options, &withheld).size(), 0u);
  EXPECT_EQ(withheld, 0u);
  EXPECT_EQ(watched.allocated(), 0u);
}

// A step needs 100 victims, and the first 350 units in the policy's order may not leave.
class ConformanceCost : public Conformance {
 protected:
  static constexpr uint32_t kUnits = 2000, kSlots = 1000, kBusy = 350, kMisses = 100;

  ConformanceCost() {
    for (UnitIndex unit = 0; unit < kSlots; ++unit) (unit < kBusy ? busy_ : hot_).push_back(unit);
    for (UnitIndex unit = kSlots; unit < kSlots + kMisses; ++unit) missing_.push_back(unit);
    pool_.Step(0, busy_);
    for (uint64_t pass = 1; pass < 20; ++pass) pool_.Step(pass, hot_);
    pool_.ForgetAsked();
  }
  // Every busy unit once, every victim once; the units that came in may be met as well.
  void ExpectLinear() {
    if (AdmitsNone()) {
      EXPECT_EQ(pool_.asked(), 0u);
      return;
    }
    if (AdmitsAll()) {
      EXPECT_EQ(pool_.victims().size(), kMisses);
      EXPECT_GE(pool_.asked(), kMisses);
    }
    EXPECT_LE(pool_.asked(), kBusy + 2 * kMisses);
  }

  const PolicyOptions options_ = WithNeedsOf(GetParam(), Options(kUnits, kSlots, 10));
  const std::unique_ptr<Policy> policy_ = MakeOrDie(GetParam(), options_);
  Pool pool_{*policy_, options_};
  std::vector<UnitIndex> busy_, hot_, missing_;
};

TEST_P(ConformanceCost, AStepAsksAboutItsOwnUnitsOnce) {
  std::vector<UnitIndex> step = busy_;
  step.insert(step.end(), missing_.begin(), missing_.end());
  EXPECT_EQ(pool_.Step(20, step), kMisses);
  ExpectLinear();
}

TEST_P(ConformanceCost, AStepAsksAboutLeasedUnitsOnce) {
  pool_.Lease(busy_);
  EXPECT_EQ(pool_.Step(20, missing_), kMisses);
  ExpectLinear();
}

TEST_P(Conformance, AnEmptyPoolHasNoVictim) {
  const PolicyOptions options = RandomOptions(GetParam());
  const auto policy = MakeOrDie(GetParam(), options);
  Pool pool(*policy, options);
  EXPECT_EQ(policy->NextVictim(pool), kNoUnit);
  policy->BeginStep(1);
  EXPECT_EQ(policy->NextVictim(pool), kNoUnit);
  // A unit that comes in after the search found nothing is found.
  policy->Inserted(options.first_unit);
  EXPECT_EQ(policy->NextVictim(pool), options.first_unit);
  policy->Erased(options.first_unit);
  EXPECT_EQ(policy->NextVictim(pool), kNoUnit);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : Policies()) {
    // Where the bound lets units pass by the future that it is given, hardly anybody leaves.
    names.push_back(std::string(info.name) + (info.needs_future ? ":admit=always" : ""));
  }
  names.push_back("hazard:bypass=0");
  return names;
}

std::string NameOf(const testing::TestParamInfo<std::string>& info) { return TestName(info.param); }
INSTANTIATE_TEST_SUITE_P(EveryPolicy, Conformance, testing::ValuesIn(Names()), NameOf);
INSTANTIATE_TEST_SUITE_P(EveryPolicy, ConformanceCost, testing::ValuesIn(Names()), NameOf);

}  // namespace
}  // namespace berth::policies
