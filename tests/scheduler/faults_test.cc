// The fault driver itself: it meets every fault, drives every policy, replays exactly, and its
// reads tell the truth.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "policies/policy.h"
#include "tests/scheduler/any_policy.h"
#include "tests/scheduler/decided.h"
#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/fault_seed.h"
#include "tests/scheduler/scenario.h"
#include "tests/scheduler/simulated_read.h"

namespace berth::scheduler {
namespace {

TEST(FaultDriverTest, MeetsEveryFault) {
  SeedTotals totals;
  for (uint64_t seed = 1; seed <= 400; ++seed) ASSERT_EQ(RunFaultSeed(seed, &totals), "") << seed;
  for (size_t f = 0; f < kFaultKinds; ++f) {
    EXPECT_GT(totals.faults[f], 10u) << FaultName(static_cast<Fault>(f));
  }
  EXPECT_GT(totals.compared, 50u);
  EXPECT_GT(totals.closed, 20u);
  EXPECT_GT(totals.flips_found, 10u);
  EXPECT_GT(totals.carrying_steps, 10u);
  // Most steps must still work, or nothing would be shown of what they find.
  EXPECT_GT(totals.failed_steps, totals.steps / 50);
  EXPECT_LT(totals.failed_steps, totals.steps / 4);
}

TEST(FaultDriverTest, ReplaysASeedExactly) {
  SeedTotals first, second;
  for (uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(RunFaultSeed(seed, &first), "");
  for (uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(RunFaultSeed(seed, &second), "");
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.failed_steps, second.failed_steps);
  EXPECT_EQ(first.faults, second.faults);
}

TEST(FaultDriverTest, DrivesEveryPolicyAndItsParameters) {
  std::set<std::string> plain, with_parameters;
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string spec = DrawPolicy(&random).spec;
    const size_t colon = spec.find(':');
    (colon == spec.npos ? plain : with_parameters).insert(spec.substr(0, colon));
  }
  for (const policies::PolicyInfo& info : policies::Policies()) {
    const std::string name(info.name);
    SCOPED_TRACE(name);
    EXPECT_EQ(plain.count(name), 1u);
    const bool has_parameters = info.summary.find('=') != info.summary.npos;
    EXPECT_EQ(with_parameters.count(name), has_parameters ? 1u : 0u);
  }
}

// The comparison of two orders sees a difference: other submissions, other decisions.
TEST(FaultDriverTest, OtherSubmissionsGiveOtherDecisions) {
  std::string decided[2];
  for (uint64_t s : {0, 1}) {
    const CoreOptions machine = RandomMachine(5);
    FakeDriver driver(DriverOptions{});
    ASSERT_TRUE(driver.Open(machine).ok());
    Play(&driver, RandomScript(5 + s, machine, {}), 1, 3);
    EXPECT_EQ(driver.error(), "");
    decided[s] = Decided(driver.core().counters());
  }
  EXPECT_NE(decided[0], decided[1]);
}

struct ReadCase {
  Fault fault;
  StatusCode code;
};

TEST(SimulatedReadTest, EndsAsTheRulesSay) {
  constexpr ReadCase kCases[] = {
      {Fault::kShortRead, StatusCode::kOk},
      {Fault::kStall, StatusCode::kOk},
      {Fault::kStorm, StatusCode::kOk},
      {Fault::kIoErrorOnce, StatusCode::kOk},
      {Fault::kEndShort, StatusCode::kOk},
      {Fault::kBitFlip, StatusCode::kOk},
      {Fault::kIoError, StatusCode::kUnavailable},
      {Fault::kStormForever, StatusCode::kUnavailable},
      {Fault::kCutFile, StatusCode::kDataLoss},
      {Fault::kStallForever, StatusCode::kDataLoss},
      {Fault::kTooLong, StatusCode::kInternal},
  };
  for (const ReadCase& c : kCases) {
    SCOPED_TRACE(std::string(FaultName(c.fault)));
    FaultPlan plan;
    plan.rate(c.fault) = 1;
    Faults faults(plan);
    Random random(3);
    for (uint32_t bytes : {4096u, 40960u, 400000u}) {
      // A page is too little for a read to stall in: what it needs may come before it does.
      if (c.fault == Fault::kStallForever && bytes == 4096) continue;
      for (int again = 0; again < 50; ++again) {
        SimulatedRead read(8192, bytes, /*broken=*/false, &faults, &random);
        uint64_t delay = 0;
        while (!read.Advance(&random, &delay)) {
          ASSERT_LT(read.results(), SimulatedRead::MostResults(bytes));
        }
        EXPECT_EQ(read.Finish("a drive").code(), c.code);
        EXPECT_EQ(read.whole(), c.code == StatusCode::kOk);
        EXPECT_EQ(read.flipped(), c.fault == Fault::kBitFlip);
      }
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
