// Policies that need the future: the simulator, which tells it to the core step by step, misses
// exactly as often as counting does, and bypass is the bound.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runtime/count/count.h"
#include "runtime/simulate/simulate.h"
#include "tests/count/given_trace.h"

namespace berth {
namespace {

constexpr testing::Shape kShape = {4, 32, 2};
constexpr uint64_t kUnitBytes = 4096;
constexpr const char* kBound = "belady";
constexpr const char* kForced = "belady:admit=always";

testing::GivenTrace Trace(uint64_t seed = 1) { return testing::RandomTrace(seed, kShape, 400); }

SimulateOptions Machine(const std::string& policy, uint32_t slots) {
  SimulateOptions options;
  options.stated.unit_bytes = {kUnitBytes};
  RuntimeOptions& runtime = options.run.runtime;
  runtime.policy = policy;
  runtime.cards[0].arena_bytes = slots * kUnitBytes;
  runtime.slots = SlotSharingChoice::kShared;
  runtime.sweep_rows = 1000;  // a prompt's sweep has rules of its own, which counting has not
  return options;
}

RunReport Simulated(const SimulateOptions& options, TraceFile* trace) {
  Result<RunReport> report = Simulate(options, trace);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? std::move(*report) : RunReport();
}

CountResult Counted(const SimulateOptions& options, const std::vector<uint32_t>& pool_of_layer,
                    const std::vector<uint32_t>& pool_slots, TraceFile* trace) {
  CountWorkload workload;
  workload.passes = options.run.passes;
  workload.pool_of_layer = pool_of_layer;
  workload.heat = options.run.runtime.heat;
  CountRequest request;
  request.policy = options.run.runtime.policy;
  request.pool_slots = pool_slots;
  request.preload = options.run.runtime.preload;
  const auto results = CountMisses(trace, workload, std::span(&request, 1));
  EXPECT_TRUE(results.ok()) << results.status().ToString();
  return results.ok() ? results->front() : CountResult();
}

void ExpectAsCounted(const SimulateOptions& options, const std::vector<uint32_t>& pool_of_layer,
                     const std::vector<uint32_t>& pool_slots) {
  testing::GivenTrace trace = Trace();
  const RunReport report = Simulated(options, &trace);
  ASSERT_EQ(report.info.cards.size(), 1u);
  const CardCounters& card = report.stats.counters.cards[0];
  const CountResult counted = Counted(options, pool_of_layer, pool_slots, &trace);
  EXPECT_EQ(card.requests, counted.lookups);
  EXPECT_EQ(card.misses, counted.misses);
  EXPECT_EQ(card.inserted - card.warm_loads, counted.inserted);
  EXPECT_GT(card.hits, 0u);
}

TEST(SimulateFuture, MissesAsCounted) {
  for (const char* policy : {kBound, kForced}) {
    for (const uint32_t streams : {1u, 3u}) {
      for (const uint32_t window : {1u, 4u}) {
        SCOPED_TRACE(std::string(policy) + ", " + std::to_string(streams) + " streams, window " +
                     std::to_string(window));
        SimulateOptions options = Machine(policy, 42);
        options.run.passes.streams = streams;
        options.run.passes.window = window;
        options.run.passes.prompt_rows = 3;
        ExpectAsCounted(options, {}, {42});
        options.run.runtime.slots = SlotSharingChoice::kPerLayer;
        ExpectAsCounted(options, {0, 1, 2, 3}, {11, 11, 10, 10});
        // Two size classes; and the layers of one lie between those of the other.
        options.run.runtime.slots = SlotSharingChoice::kShared;
        options.stated.unit_bytes = {kUnitBytes, 2 * kUnitBytes, kUnitBytes, 2 * kUnitBytes};
        options.run.runtime.cards[0].arena_bytes = 60 * kUnitBytes;
        ExpectAsCounted(options, {0, 1, 0, 1}, {20, 20});
      }
    }
  }
}

TEST(SimulateFuture, MissesAsCountedFromAFilledArena) {
  for (const char* policy : {kBound, kForced}) {
    SimulateOptions options = Machine(policy, 42);
    for (uint32_t u = 0; u < kShape.layers * kShape.experts; ++u) {
      options.run.runtime.heat.push_back(static_cast<double>(u * 7 % 11));
    }
    options.run.runtime.preload = true;
    ExpectAsCounted(options, {}, {42});
  }
}

// What a card is asked for is a trace of its own, in which the others' experts are nobody.
TEST(SimulateFuture, MissesAsCountedOnTwoCards) {
  for (const char* policy : {kBound, kForced}) {
    SimulateOptions options = Machine(policy, 20);
    options.run.runtime.cards.push_back(options.run.runtime.cards[0]);
    options.run.runtime.cards[1].device = "host:1";
    options.run.passes.streams = 2;
    testing::GivenTrace trace = Trace();
    const RunReport report = Simulated(options, &trace);
    for (uint32_t card = 0; card < 2; ++card) {
      std::vector<int32_t> ids;
      for (uint64_t row = 0; row < trace.info().rows; ++row) {
        const std::span<const int32_t> all = *trace.Experts(row);
        for (const int32_t id : all) {
          ids.push_back(id != kNoExpert && id % 2 == static_cast<int>(card) ? id : kNoExpert);
        }
      }
      testing::GivenTrace own(kShape, std::move(ids), trace.info().request_rows);
      const CountResult counted = Counted(options, {}, {20}, &own);
      EXPECT_EQ(report.stats.counters.cards[card].requests, counted.lookups);
      EXPECT_EQ(report.stats.counters.cards[card].misses, counted.misses);
    }
  }
}

TEST(SimulateFuture, BypassIsTheBound) {
  for (const uint32_t slots : {10u, 30u, 80u}) {
    testing::GivenTrace trace = Trace(slots);
    const auto misses = [&](const std::string& policy) {
      SimulateOptions options = Machine(policy, slots);
      options.run.runtime.heat.assign(kShape.layers * kShape.experts, 1);
      return Simulated(options, &trace).stats.counters.cards[0].misses;
    };
    const uint64_t bound = misses(kBound);
    EXPECT_LT(bound, misses(kForced));
    for (const policies::PolicyInfo& info : policies::Policies()) {
      EXPECT_LE(bound, misses(std::string(info.name))) << info.name << ", " << slots << " slots";
    }
  }
}

// Recency would take quotas there.
TEST(SimulateFuture, StandsTheCliff) {
  testing::GivenTrace trace = Trace();
  SimulateOptions options = Machine(kBound, 6);
  options.run.runtime.slots = SlotSharingChoice::kAuto;
  const CountResult counted = Counted(options, {}, {6}, &trace);
  EXPECT_EQ(Simulated(options, &trace).stats.counters.cards[0].misses, counted.misses);
}

// Behind sweeps and streams, with an exclusive host tier that knows the future too. What that tier
// is asked for does not depend on its policy.
TEST(SimulateFuture, AnExclusiveHostTierKnowsItToo) {
  for (const char* policy : {kBound, kForced, "lru"}) {
    SCOPED_TRACE(policy);
    testing::GivenTrace trace = Trace();
    SimulateOptions options = Machine(policy, 30);
    RuntimeOptions& runtime = options.run.runtime;
    runtime.sweep_rows = 2;
    runtime.host_policy = kBound;
    runtime.host_tier_bytes = 40 * kUnitBytes;
    runtime.host_exclusive = true;
    options.run.passes.streams = 2;
    options.run.passes.prompt_rows = 3;
    const Counters bound = Simulated(options, &trace).stats.counters;
    EXPECT_GT(bound.host.hits, 0u);
    // Decisions are those of the trace, whatever the machine.
    options.profile.storage.bytes_per_s = 1e12;
    EXPECT_EQ(Simulated(options, &trace).stats.counters.decisions, bound.decisions);
    runtime.host_policy = "lru";
    const Counters lru = Simulated(options, &trace).stats.counters;
    EXPECT_EQ(lru.host.requests, bound.host.requests);
    EXPECT_GT(lru.host.misses, bound.host.misses);
    EXPECT_NE(lru.decisions, bound.decisions);
  }
}

TEST(SimulateFuture, AnInclusiveHostTierCannot) {
  testing::GivenTrace trace = Trace();
  SimulateOptions options = Machine("lru", 30);
  options.run.runtime.host_policy = kBound;
  EXPECT_TRUE(Simulate(options, &trace).ok());  // there is no such tier
  options.run.runtime.host_tier_bytes = 40 * kUnitBytes;
  const Result<RunReport> report = Simulate(options, &trace);
  EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(report.status().message().find("exclusive"), std::string_view::npos)
      << report.status().ToString();
}

}  // namespace
}  // namespace berth
