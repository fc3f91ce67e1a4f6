// A run and a simulation of the same trace, flags and model decide the same, to the last counter
// (but hits_late, which is timing) and to the digest of all decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runtime/base/check.h"
#include "runtime/simulate/simulate.h"
#include "runtime/trace/trace_writer.h"
#include "scheduler/counters.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

// Storage that reorders, splits, refuses and slows.
io::FaultPlan Rough(uint64_t seed) {
  io::FaultPlan plan;
  plan.seed = seed;
  plan.delay_us_max = 100;
  plan.hold_back = 5;
  plan.rate(io::Fault::kShortRead) = 0.1;
  plan.rate(io::Fault::kBusyRecovers) = 0.05;
  return plan;
}

RunReport Ran(RunOptions options, uint64_t seed) {
  options.open = OpenOver(Rough(seed));
  Result<RunReport> report = RunTrace(options);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? std::move(report).value() : RunReport();
}

RunReport Simulated(const RunOptions& options, const MachineProfile& profile = MachineProfile()) {
  SimulateOptions simulate;
  simulate.run = options;
  simulate.profile = profile;
  Result<RunReport> report = Simulate(simulate);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? std::move(report).value() : RunReport();
}

RunReport ExpectEqual(const RunOptions& options, uint64_t seed = 1,
                      const MachineProfile& profile = MachineProfile()) {
  const RunReport run = Ran(options, seed);
  RunReport simulated = Simulated(options, profile);
  EXPECT_GT(run.stats.counters.steps, 0u);
  EXPECT_NE(run.stats.counters.decisions, 0u);
  EXPECT_EQ(scheduler::Decided(run.stats.counters), scheduler::Decided(simulated.stats.counters));
  EXPECT_EQ(run.stats.moved.h2d, simulated.stats.moved.h2d);
  EXPECT_EQ(run.stats.moved.d2h, simulated.stats.moved.d2h);
  EXPECT_EQ(run.info.chunk, simulated.info.chunk);
  EXPECT_EQ(run.info.cards.size(), simulated.info.cards.size());
  for (size_t c = 0; c < std::min(run.info.cards.size(), simulated.info.cards.size()); ++c) {
    EXPECT_EQ(run.info.cards[c].class_slots, simulated.info.cards[c].class_slots);
  }
  EXPECT_EQ(run.info.host_class_slots, simulated.info.host_class_slots);
  EXPECT_EQ(run.tokens, simulated.tokens);
  EXPECT_TRUE(scheduler::CheckBalance(simulated.stats.counters).ok());
  return simulated;
}

// Layer after layer hotter towards the first experts.
std::vector<double> SomeHeat() {
  std::vector<double> heat;
  for (uint32_t u = 0; u < kLayers * kExperts; ++u) {
    heat.push_back(1.0 / (1 + u % kExperts * (1 + u / kExperts)));
  }
  return heat;
}

TEST(SimulateEquality, EveryOnlinePolicyOnOneAndTwoCards) {
  for (const policies::PolicyInfo& info : policies::Policies()) {
    if (info.needs_future) continue;
    for (const uint32_t cards : {1u, 2u}) {
      SCOPED_TRACE(std::string(info.name) + ", " + std::to_string(cards) + " cards");
      RunOptions options = Tight(SmallModel::Get().gguf);
      SetCards(cards, &options.runtime);
      options.runtime.policy = info.name;
      options.runtime.host_policy = info.name;
      options.runtime.host_tier_bytes = 400'000;
      options.runtime.sweep_rows = 4;  // the prompts are sweeps
      if (info.needs_heat) options.runtime.heat = SomeHeat();
      ExpectEqual(options, cards);
    }
  }
}

TEST(SimulateEquality, EveryTierSharingAndForm) {
  const SmallModel& model = SmallModel::Get();
  uint64_t seed = 10;
  for (const std::string& path : {model.gguf, model.split, model.pack}) {
    for (const uint32_t cards : {1u, 2u}) {
      for (const SlotSharingChoice slots :
           {SlotSharingChoice::kShared, SlotSharingChoice::kPerLayer}) {
        for (const char* tier : {"none", "inclusive", "exclusive"}) {
          SCOPED_TRACE(path + ", " + std::to_string(cards) + " cards, host tier " + tier +
                       (slots == SlotSharingChoice::kShared ? ", shared" : ", per layer"));
          RunOptions options = Tight(path);
          SetCards(cards, &options.runtime);
          options.runtime.slots = slots;
          options.runtime.host_tier_bytes = tier == std::string("none") ? 0 : 500'000;
          options.runtime.host_exclusive = tier == std::string("exclusive");
          ExpectEqual(options, ++seed);
        }
      }
    }
  }
}

TEST(SimulateEquality, StreamsAndWindows) {
  for (const uint32_t streams : {1u, 3u}) {
    for (const uint32_t window : {1u, 3u}) {
      SCOPED_TRACE(std::to_string(streams) + " streams, window " + std::to_string(window));
      RunOptions options = Tight(SmallModel::Get().gguf);
      options.trace = SmallModel::Get().plain_trace;
      options.passes.streams = streams;
      options.passes.window = window;
      SetCards(2, &options.runtime);
      ExpectEqual(options, streams + window);
    }
  }
}

// The plain trace, with predictions of which three in four are right.
std::string Foretold() {
  const std::string path = SmallModel::Get().File("foretold.safetensors");
  Result<std::unique_ptr<TraceFile>> plain = TraceFile::Open(SmallModel::Get().plain_trace);
  BERTH_CHECK(plain.ok());
  TraceInfo info = (*plain)->info();
  info.predictions_ahead = 1;
  Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::Create(path, info, /*replace=*/true);
  BERTH_CHECK(writer.ok());
  for (uint64_t row = 0; row < info.rows; ++row) {
    const Result<std::span<const int32_t>> experts = (*plain)->Experts(row);
    BERTH_CHECK(experts.ok());
    std::vector<int32_t> said(experts->begin(), experts->end());
    for (size_t i = 3; i < said.size(); i += 4) said[i] = kUnusedExpert;
    BERTH_CHECK((*writer)->Append({.experts = *experts, .predicted_1_ahead = said}).ok());
  }
  BERTH_CHECK((*writer)->Commit().ok());
  return path;
}

TEST(SimulateEquality, PrefetchFromEarlyRouters) {
  for (const uint32_t cards : {1u, 2u}) {
    for (const uint64_t budget : {uint64_t{30'000}, uint64_t{1} << 20}) {
      SCOPED_TRACE(std::to_string(cards) + " cards, " + std::to_string(budget) + " bytes a step");
      RunOptions options = Tight(SmallModel::Get().gguf);
      options.trace = Foretold();
      options.passes.streams = 2;
      options.prefetch.step_bytes = budget;
      options.runtime.host_tier_bytes = 400'000;
      SetCards(cards, &options.runtime);
      ExpectEqual(options, cards);
      EXPECT_GT(Simulated(options).stats.counters.cards[0].prefetch_admitted, 0u);
    }
  }
}

TEST(SimulateEquality, ArenasFilledBeforehand) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  SetCards(2, &options.runtime);
  options.runtime.heat = SomeHeat();
  options.runtime.preload = true;
  options.runtime.host_tier_bytes = 400'000;
  for (const bool exclusive : {false, true}) {
    SCOPED_TRACE(exclusive ? "exclusive" : "inclusive");
    options.runtime.host_exclusive = exclusive;
    ExpectEqual(options);
    const Counters counters = Simulated(options).stats.counters;
    EXPECT_GT(counters.cards[0].warm_loads, 0u);
    EXPECT_EQ(counters.host.warm_loads > 0, exclusive);  // 400 kB are fewer than on the cards
  }
  options.runtime.host_exclusive = false;
  options.runtime.host_tier_bytes = 4'000'000;
  ExpectEqual(options);
  EXPECT_GT(Simulated(options).stats.counters.host.warm_loads, 0u);
}

// Where units are computed on the host, and which are loaded behind their steps.
TEST(SimulateEquality, EveryWayOfAMiss) {
  uint64_t seed = 50;
  for (const char* name : {"", "2x7900xtx", "h200"}) {
    MachineProfile profile;
    if (*name != '\0') profile = *FindMachineProfile(name);
    for (const MissChoice miss : {MissChoice::kHost, MissChoice::kAuto}) {
      for (const uint32_t cards : {1u, 2u}) {
        for (const char* tier : {"none", "inclusive", "exclusive"}) {
          SCOPED_TRACE(std::string("profile '") + name + "', " + std::to_string(cards) +
                       " cards, host tier " + tier);
          RunOptions options = Tight(SmallModel::Get().gguf);
          SetCards(cards, &options.runtime);
          options.runtime.miss = miss;
          options.runtime.profile = name;
          options.runtime.host_tier_bytes = tier == std::string("none") ? 0 : 500'000;
          options.runtime.host_exclusive = tier == std::string("exclusive");
          if (cards == 2) options.runtime.sweep_rows = 4;
          const RunReport report = ExpectEqual(options, ++seed, profile);
          EXPECT_GT(report.stats.counters.cards[0].host_computed, 0u);
        }
      }
    }
  }
}

TEST(SimulateEquality, HostMissesBesideHintsAndWarmStarts) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.trace = Foretold();
  options.prefetch.step_bytes = 200'000;
  options.runtime.heat = SomeHeat();
  options.runtime.preload = true;
  options.runtime.miss = MissChoice::kAuto;
  options.runtime.host_tier_bytes = 400'000;
  SetCards(2, &options.runtime);
  const RunReport report = ExpectEqual(options, 90);
  EXPECT_GT(report.stats.counters.cards[0].prefetch_admitted, 0u);
  EXPECT_GT(report.stats.counters.cards[0].host_computed, 0u);
}

// Decisions depend on nothing that a profile says about time.
TEST(SimulateEquality, WhateverTheMachine) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.runtime.host_tier_bytes = 400'000;
  options.runtime.host_exclusive = true;
  const std::string decisions = scheduler::Decided(Simulated(options).stats.counters);
  for (const BuiltInProfile& built_in : BuiltInProfiles()) {
    SCOPED_TRACE(built_in.name);
    const Result<MachineProfile> profile = FindMachineProfile(std::string(built_in.name));
    ASSERT_TRUE(profile.ok()) << profile.status().ToString();
    EXPECT_EQ(scheduler::Decided(Simulated(options, *profile).stats.counters), decisions);
  }
}

// The comparison can fail: one slot more decides otherwise.
TEST(SimulateEquality, SeesAnotherDecision) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  const std::string decisions = scheduler::Decided(Simulated(options).stats.counters);
  options.runtime.cards[0].arena_bytes += 100'000;
  EXPECT_NE(scheduler::Decided(Simulated(options).stats.counters), decisions);
}

}  // namespace
}  // namespace berth::testing
