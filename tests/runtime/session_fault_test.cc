// Bits that flip on the way from a drive that says all is well: with checksums no step computes
// with one, without them only the steps of that unit do.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "runtime/catalog/catalog.h"
#include "runtime/pack/verify.h"
#include "tests/runtime/session_work.h"
#include "tests/runtime/small_model.h"

namespace berth::testing {
namespace {

constexpr uint32_t kWorks = 24;
constexpr uint32_t kRounds = 4;

struct Outcome {
  uint32_t failed = 0;
  uint32_t wrong = 0;            // done, with another output than it should have
  uint32_t wrong_of_others = 0;  // likewise, of steps that do not need `flipped`
};

// Runs the works over a storage with these faults. A step that fails says which unit it was.
Outcome RunWorks(const std::string& model, const io::FaultPlan& plan, UnitRef flipped,
                 bool checksums = true, MissChoice miss = MissChoice::kStage) {
  Outcome outcome;
  RuntimeOptions options = SessionOptionsOf(model, SmallModel::Get().minimum_arena);
  options.miss = miss;
  options.verify_checksums = checksums;
  const auto runtime = OpenRuntime(options, Faulty(plan));
  EXPECT_TRUE(runtime.ok()) << runtime.status().ToString();
  if (!runtime.ok()) return outcome;
  const auto session = (*runtime)->NewSession();
  EXPECT_TRUE(session.ok());
  for (uint32_t i = 0; i < kWorks * kRounds; ++i) {
    Work work(i % kWorks);
    const Result<Ticket> ticket = (*session)->Enqueue(work.Prepare());
    EXPECT_TRUE(ticket.ok()) << ticket.status().ToString();
    const Status done = (*session)->Wait(*ticket);
    if (!done.ok()) {
      ++outcome.failed;
      EXPECT_EQ(done.code(), StatusCode::kDataLoss) << done.ToString();
      for (const std::string& part : {model, std::string("checksum"), std::string("expert ")}) {
        EXPECT_NE(done.message().find(part), std::string::npos) << part << ": " << done.ToString();
      }
    } else if (work.y != ExpectedOutputs(kWorks)[i % kWorks]) {
      ++outcome.wrong;
      outcome.wrong_of_others += work.Uses(flipped) ? 0 : 1;
    }
  }
  return outcome;
}

io::FaultPlan FlipsEverywhere() {
  io::FaultPlan plan;
  plan.rate(io::Fault::kBitFlip) = 0.05;
  return plan;
}

TEST(SessionFault, APackFindsEveryFlippedBit) {
  const Outcome outcome = RunWorks(SmallModel::Get().pack, FlipsEverywhere(), {});
  EXPECT_GT(outcome.failed, 0u);
  EXPECT_LT(outcome.failed, kWorks * kRounds);
  EXPECT_EQ(outcome.wrong, 0u);
  // They were there to be found.
  const Outcome unproved =
      RunWorks(SmallModel::Get().pack, FlipsEverywhere(), {}, /*checksums=*/false);
  EXPECT_EQ(unproved.failed, 0u);
  EXPECT_GT(unproved.wrong, 0u);
}

// What the host computes is proved before, as what is copied is.
TEST(SessionFault, TheHostComputesNoFlippedBit) {
  const Outcome outcome = RunWorks(SmallModel::Get().pack, FlipsEverywhere(), {},
                                   /*checksums=*/true, MissChoice::kHost);
  EXPECT_GT(outcome.failed, 0u);
  EXPECT_LT(outcome.failed, kWorks * kRounds);
  EXPECT_EQ(outcome.wrong, 0u);
}

TEST(SessionFault, AUnitThatTheHostCannotReadFailsItsOwnSteps) {
  const std::string& model = SmallModel::Get().gguf;
  const UnitRef lost{1, static_cast<uint32_t>(Work(5).ids[0])};
  const auto catalog = Catalog::Open(model);
  ASSERT_TRUE(catalog.ok());
  const Extent extent = (*catalog)->extents((*catalog)->unit(lost)).back();
  io::FaultPlan plan;
  plan.ranges.push_back({io::Fault::kIoErrorStays, extent.file, extent.offset + 4096,
                         extent.offset + extent.bytes - 4096, /*times=*/0});
  RuntimeOptions options = SessionOptionsOf(model, SmallModel::Get().minimum_arena);
  options.miss = MissChoice::kHost;
  const auto runtime = OpenRuntime(options, Faulty(plan));
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  uint32_t failed = 0;
  for (uint32_t i = 0; i < kWorks; ++i) {
    Work work(i);
    const Result<Ticket> ticket = (*session)->Enqueue(work.Prepare());
    ASSERT_TRUE(ticket.ok());
    const bool done = (*session)->Wait(*ticket).ok();
    EXPECT_EQ(done, !work.Uses(lost)) << i;
    if (done) {
      EXPECT_EQ(work.y, ExpectedOutputs(kWorks)[i]);
    }
    failed += done ? 0 : 1;
  }
  EXPECT_GT(failed, 0u);
}

TEST(SessionFault, SoDoesASidecar) {
  const std::string copy = SmallModel::Get().File("sidecar.gguf");
  std::filesystem::copy_file(SmallModel::Get().gguf, copy);
  models::VerifyOptions options;
  options.model = copy;
  options.write = true;
  const auto written = models::VerifyModel(options, nullptr);
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  const Outcome outcome = RunWorks(copy, FlipsEverywhere(), {});
  EXPECT_GT(outcome.failed, 0u);
  EXPECT_LT(outcome.failed, kWorks * kRounds);
  EXPECT_EQ(outcome.wrong, 0u);
}

TEST(SessionFault, WithoutChecksumsOnlyTheUnitsOwnStepsCarryIt) {
  const std::string& model = SmallModel::Get().gguf;
  const UnitRef flipped{1, static_cast<uint32_t>(Work(5).ids[0])};
  const auto catalog = Catalog::Open(model);
  ASSERT_TRUE(catalog.ok());
  // Reads of other units do not meet it: their heads begin less than a page before them.
  const Extent extent = (*catalog)->extents((*catalog)->unit(flipped)).back();
  io::FaultPlan plan;
  plan.ranges.push_back({io::Fault::kBitFlip, extent.file, extent.offset,
                         extent.offset + extent.bytes - 4096, /*times=*/0});
  const Outcome outcome = RunWorks(model, plan, flipped);
  EXPECT_EQ(outcome.failed, 0u);
  EXPECT_GT(outcome.wrong, 0u);
  EXPECT_EQ(outcome.wrong_of_others, 0u);
}

}  // namespace
}  // namespace berth::testing
