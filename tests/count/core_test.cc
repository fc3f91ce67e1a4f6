// Counting and the scheduler core are the same machine: for every policy, the same trace gives the
// same hits, misses and insertions.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "policies/policy.h"
#include "runtime/count/count.h"
#include "runtime/count/future.h"
#include "tests/count/given_trace.h"
#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth {
namespace {

using scheduler::CoreOptions;

struct Case {
  testing::Shape shape;
  uint32_t slots;
  bool per_layer;
  uint32_t streams;
  bool heat;
};

std::vector<double> HeatOf(const Case& given) {
  std::vector<double> heat(given.shape.layers * given.shape.experts);
  for (size_t unit = 0; unit < heat.size(); ++unit) {
    heat[unit] = static_cast<double>(unit * 7 % 11);
  }
  return heat;
}

CountResult Count(const Case& given, const std::string& policy, TraceFile* trace) {
  CountWorkload workload;
  workload.passes.streams = given.streams;
  if (given.heat) workload.heat = HeatOf(given);
  CountRequest request;
  request.policy = policy;
  request.seed = 5;
  for (uint32_t layer = 0; layer < given.shape.layers; ++layer) {
    if (!given.per_layer) continue;
    workload.pool_of_layer.push_back(layer);
    const uint32_t rest = layer < given.slots % given.shape.layers ? 1 : 0;
    request.pool_slots.push_back(given.slots / given.shape.layers + rest);
  }
  if (!given.per_layer) request.pool_slots = {given.slots};
  const auto results = CountMisses(trace, workload, std::vector<CountRequest>{request});
  EXPECT_TRUE(results.ok()) << results.status().ToString();
  return results.ok() ? (*results)[0] : CountResult{};
}

CardCounters RunCore(const Case& given, const std::string& policy, TraceFile* trace) {
  CoreOptions options = scheduler::SmallMachine(given.shape.layers, given.shape.experts,
                                                given.shape.top_k, given.slots);
  options.policy = policy;
  options.sharing =
      given.per_layer ? CoreOptions::Sharing::kPerLayer : CoreOptions::Sharing::kShared;
  options.max_rows = given.streams;
  options.sweep_rows = given.streams;
  options.seed = 5;
  if (given.heat) options.heat = HeatOf(given);
  scheduler::FakeDriver driver(scheduler::DriverOptions{});
  const Status opened = driver.Open(options);
  EXPECT_TRUE(opened.ok()) << opened.ToString();
  if (!opened.ok()) return {};

  PassOptions passes;
  passes.streams = given.streams;
  auto source = PassSource::Create(trace->info(), passes);
  EXPECT_TRUE(source.ok());
  const auto future = Future::Find(trace, passes);
  EXPECT_TRUE(future.ok()) << future.status().ToString();
  uint64_t pass = 0;
  for (auto rows = source->Next(); !rows.empty(); rows = source->Next(), ++pass) {
    for (uint32_t layer = 0; layer < given.shape.layers; ++layer) {
      std::vector<int32_t> ids;
      for (uint64_t row : rows) {
        const auto all = trace->Experts(row);
        const auto own = all->subspan(size_t{layer} * given.shape.top_k, given.shape.top_k);
        ids.insert(ids.end(), own.begin(), own.end());
      }
      EXPECT_TRUE((*future)->BeginStep(layer, ids).ok());
      std::copy((*future)->next_use().begin(), (*future)->next_use().end(),
                driver.next_use().begin());
      const auto ticket = driver.Step(layer, ids, pass);
      EXPECT_TRUE(ticket.ok()) << ticket.status().ToString();
      driver.AnswerAll();
    }
  }
  EXPECT_EQ(driver.error(), "");
  return driver.core().counters().cards[0];
}

TEST(CountEqualsCore, EveryPolicy) {
  const Case cases[] = {{{1, 24, 2}, 7, false, 1, false}, {{4, 16, 2}, 26, false, 1, true},
                        {{4, 16, 2}, 26, true, 1, false}, {{3, 20, 3}, 29, true, 1, true},
                        {{3, 20, 3}, 10, false, 4, true}, {{2, 30, 2}, 14, true, 6, false}};
  for (const policies::PolicyInfo& info : policies::Policies()) {
    const std::string policy(info.name);
    uint64_t seed = 1;
    for (const Case& given : cases) {
      if (info.needs_heat && !given.heat) continue;
      testing::GivenTrace trace = testing::RandomTrace(seed++, given.shape, 400);
      const CountResult counted = Count(given, policy, &trace);
      const CardCounters run = RunCore(given, policy, &trace);
      EXPECT_EQ(counted.lookups, run.requests) << policy << " " << seed;
      EXPECT_EQ(counted.misses, run.misses) << policy << " " << seed;
      EXPECT_EQ(counted.inserted, run.inserted) << policy << " " << seed;
      EXPECT_GT(run.hits, 0u);
    }
  }
}

}  // namespace
}  // namespace berth
