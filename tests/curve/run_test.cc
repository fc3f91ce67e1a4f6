// A size that was counted misses what a run with as many slots misses.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/catalog/catalog.h"
#include "runtime/curve/curve.h"
#include "tests/runtime/small_model.h"

namespace berth::curve {
namespace {

using testing::SmallModel;

uint64_t MissesOfRun(const std::string& policy, uint64_t arena_bytes, Scope scope) {
  RunOptions options = testing::Resident(SmallModel::Get().one_class);
  options.trace = SmallModel::Get().plain_trace;
  options.runtime.compute = false;
  options.runtime.policy = policy;
  options.runtime.cards[0].arena_bytes = arena_bytes;
  options.runtime.slots =
      scope == Scope::kShared ? SlotSharingChoice::kShared : SlotSharingChoice::kPerLayer;
  const Result<RunReport> report = RunTrace(options);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? report->stats.counters.cards[0].misses : 0;
}

class CurveAndRun : public ::testing::TestWithParam<const char*> {};

TEST_P(CurveAndRun, MissAlike) {
  const auto catalog = Catalog::Open(SmallModel::Get().one_class);
  ASSERT_TRUE(catalog.ok());
  const uint64_t slot_bytes = (*catalog)->size_classes()[0].card_bytes;
  for (const Scope scope : {Scope::kShared, Scope::kPerLayer}) {
    Result<std::unique_ptr<TraceFile>> trace = TraceFile::Open(SmallModel::Get().plain_trace);
    ASSERT_TRUE(trace.ok());
    CurveOptions options;
    options.scope = scope;
    options.unit_bytes = {slot_bytes};
    options.policies = {GetParam()};
    options.sizes = *ParseSizes("17,25%,50%," + std::to_string(70 * slot_bytes) + "B");
    const Result<CurveReport> report = MeasureCurve(trace->get(), options);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    ASSERT_EQ(report->sizes.size(), 4u);
    EXPECT_EQ(report->sizes.back().slots, 70u);
    for (size_t s = 0; s < report->sizes.size(); ++s) {
      SCOPED_TRACE(report->sizes[s].slots);
      const uint64_t bytes = report->pools.BytesOf(report->sizes[s].pool_slots);
      EXPECT_EQ(report->policies[0].points[s].misses, MissesOfRun(GetParam(), bytes, scope));
    }
    EXPECT_GT(report->policies[0].points[0].misses, report->policies[0].points[3].misses);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, CurveAndRun, ::testing::Values("lru", "lfu", "arc", "s3-fifo"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace berth::curve
