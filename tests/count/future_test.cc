// The future that drivers are told against the one that is found by looking ahead in the trace.
#include "runtime/count/future.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/policy.h"
#include "tests/count/given_trace.h"

namespace berth {
namespace {

struct Step {
  uint32_t layer = 0;
  std::vector<int32_t> ids;
};

std::vector<Step> StepsOf(TraceFile* trace, const PassOptions& passes) {
  const TraceInfo& info = trace->info();
  Result<PassSource> source = PassSource::Create(info, passes);
  EXPECT_TRUE(source.ok());
  std::vector<Step> steps;
  for (auto rows = source->Next(); !rows.empty(); rows = source->Next()) {
    for (uint32_t layer = 0; layer < info.layers; ++layer) {
      Step step{layer, {}};
      for (const uint64_t row : rows) {
        const auto own = trace->Experts(row)->subspan(size_t{layer} * info.top_k, info.top_k);
        step.ids.insert(step.ids.end(), own.begin(), own.end());
      }
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

// For each unit, the step from `first` on that uses it; steps.size() where none does.
std::vector<size_t> LookAhead(const std::vector<Step>& steps, size_t first,
                              const TraceInfo& trace) {
  std::vector<size_t> next(trace.layers * trace.experts, steps.size());
  for (size_t at = steps.size(); at-- > first;) {
    for (const int32_t id : steps[at].ids) {
      if (id != kNoExpert) next[steps[at].layer * trace.experts + id] = at;
    }
  }
  return next;
}

// Later steps, larger numbers; none, kNeverUsed.
void ExpectOrder(std::span<const uint64_t> next_use, const std::vector<size_t>& steps, size_t end) {
  ASSERT_EQ(next_use.size(), steps.size());
  for (size_t a = 0; a < steps.size(); ++a) {
    ASSERT_EQ(next_use[a] == policies::kNeverUsed, steps[a] == end) << "unit " << a;
    for (size_t b = 0; b < a; ++b) {
      if (steps[a] == steps[b]) continue;
      ASSERT_EQ(steps[a] < steps[b], next_use[a] < next_use[b]) << a << " " << b;
    }
  }
}

TEST(FutureTest, IsWhatTheTraceHoldsAheadOfEveryStep) {
  testing::GivenTrace trace = testing::RandomTrace(3, {3, 12, 2}, 60);
  for (const uint32_t streams : {1u, 4u}) {
    for (const uint32_t window : {1u, 3u}) {
      SCOPED_TRACE(std::to_string(streams) + " streams, window " + std::to_string(window));
      PassOptions passes;
      passes.streams = streams;
      passes.window = window;
      passes.prompt_rows = 4;
      passes.requests = {1, 3, 2, 5};
      const std::vector<Step> steps = StepsOf(&trace, passes);
      Result<std::unique_ptr<Future>> future = Future::Find(&trace, passes);
      ASSERT_TRUE(future.ok()) << future.status().ToString();
      ExpectOrder((*future)->next_use(), LookAhead(steps, 0, trace.info()), steps.size());
      for (size_t at = 0; at < steps.size() && !HasFatalFailure(); ++at) {
        ASSERT_TRUE((*future)->BeginStep(steps[at].layer, steps[at].ids).ok());
        ExpectOrder((*future)->next_use(), LookAhead(steps, at + 1, trace.info()), steps.size());
      }
    }
  }
}

TEST(FutureTest, ATraceThatChangedIsAnError) {
  testing::GivenTrace trace({2, 8, 1}, {0, 1, 2, 3});
  Result<std::unique_ptr<Future>> future = Future::Find(&trace, {});
  ASSERT_TRUE(future.ok());
  const std::vector<int32_t> id = {3};
  for (uint32_t step = 0; step < 4; ++step) {
    EXPECT_TRUE((*future)->BeginStep(step % 2, id).ok());
  }
  EXPECT_EQ((*future)->BeginStep(0, id).code(), StatusCode::kDataLoss);
}

TEST(FutureTest, SaysWhatIsWrong) {
  testing::GivenTrace trace({2, 8, 1}, {0, 1, 2, 3});
  EXPECT_EQ(Future::Find(&trace, {}, "/nowhere/at/all").status().code(), StatusCode::kNotFound);
  testing::GivenTrace large({1, (1u << 24) + 1, 1}, {0, 1});
  EXPECT_EQ(Future::Find(&large, {}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth
