// Hints in whole runs: units move earlier, and nothing else changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/trace/trace.h"
#include "runtime/trace/trace_writer.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

// The small model's trace with early routers that are right about every layer but the first.
std::string ForetoldTrace(const std::string& path) {
  const auto trace = TraceFile::Open(SmallModel::Get().plain_trace);
  EXPECT_TRUE(trace.ok());
  TraceInfo info = (*trace)->info();
  info.predictions_ahead = 1;
  const auto writer = TraceWriter::Create(path, info);
  EXPECT_TRUE(writer.ok()) << writer.status().ToString();
  for (uint64_t row = 0; row < info.rows; ++row) {
    const auto experts = (*trace)->Experts(row);
    EXPECT_TRUE(experts.ok());
    std::vector<int32_t> early(experts->begin(), experts->end());
    std::fill_n(early.begin(), info.top_k, kNoExpert);
    TraceRow written;
    written.experts = *experts;
    written.predicted_1_ahead = early;
    EXPECT_TRUE((*writer)->Append(written).ok());
  }
  EXPECT_TRUE((*writer)->Commit().ok());
  return path;
}

TEST(PrefetchRun, MovesUnitsEarlierAndChangesNoOutput) {
  const TemporaryDirectory directory;
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.trace = ForetoldTrace(directory / "foretold");
  const auto none = RunTrace(options);
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  options.prefetch.step_bytes = 1u << 30;
  const auto first = RunTrace(options);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(first->output_hash, none->output_hash);
  const CardCounters& card = first->stats.counters.cards[0];
  EXPECT_GT(card.prefetch_used, 50u);
  EXPECT_LT(card.misses, none->stats.counters.cards[0].misses);
  EXPECT_EQ(card.prefetch_used + card.prefetch_wasted + card.prefetch_unused,
            card.prefetch_admitted);
  for (const char* engine : {"pread", "buffered"}) {
    options.runtime.io_engine = engine;
    const auto report = RunTrace(options);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(scheduler::Decided(report->stats.counters),
              scheduler::Decided(first->stats.counters));
    EXPECT_EQ(report->output_hash, none->output_hash);
  }
  io::FaultPlan plan;
  plan.seed = 5;
  plan.delay_us_max = 800;
  plan.hold_back = 4;
  plan.rate(io::Fault::kShortRead) = 0.2;
  options.open = OpenOver(plan);
  const auto slow = RunTrace(options);
  ASSERT_TRUE(slow.ok()) << slow.status().ToString();
  EXPECT_EQ(scheduler::Decided(slow->stats.counters), scheduler::Decided(first->stats.counters));
  EXPECT_EQ(slow->output_hash, none->output_hash);
}

}  // namespace
}  // namespace berth::testing
