// Warm starts of whole runs: what changes is where units are when the first step comes.
#include "runtime/run/warm_start.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/catalog/catalog.h"
#include "runtime/trace/heat_file.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

uint64_t Misses(const RunReport& report) {
  uint64_t misses = 0;
  for (const CardCounters& card : report.stats.counters.cards) misses += card.misses;
  return misses;
}

uint64_t WarmLoads(const RunReport& report) {
  uint64_t loads = 0;
  for (const CardCounters& card : report.stats.counters.cards) loads += card.warm_loads;
  return loads;
}

// Half of the units fit.
RunOptions Half() {
  RunOptions options = Resident(SmallModel::Get().gguf);
  options.runtime.cards[0].arena_bytes = 2 * SmallModel::Get().minimum_arena;
  return options;
}

class WarmStartTest : public ::testing::Test {
 protected:
  // A file in which low experts are hot; where `until` is not 0, later ones have none.
  std::string HeatFile(uint32_t until = 0) {
    UnitHeat heat;
    heat.layers = kLayers;
    heat.experts = kExperts;
    for (uint32_t unit = 0; unit < kLayers * kExperts; ++unit) {
      const uint32_t expert = unit % kExperts;
      heat.heat.push_back(until != 0 && expert >= until ? 0 : kExperts - expert);
    }
    const std::string path = directory_ / "heat";
    const Status written = WriteHeatFile(path, heat, /*replace=*/true);
    EXPECT_TRUE(written.ok()) << written.ToString();
    return path;
  }

  const TemporaryDirectory directory_;
};

TEST_F(WarmStartTest, WhatWasLearnedIsWorthMissesAndChangesNoOutput) {
  for (const std::string policy : {"lru", "lfu", "heat"}) {
    SCOPED_TRACE(policy);
    RunOptions options = Half();
    options.runtime.policy = policy;
    options.save_learned = directory_ / policy;
    const std::optional<RunReport> cold = Good(options);
    ASSERT_TRUE(cold);
    EXPECT_EQ(WarmLoads(*cold), 0u);
    const Status saved =
        SaveLearned(options.save_learned, kLayers, kExperts, cold->learned, "a test");
    ASSERT_TRUE(saved.ok()) << saved.ToString();
    options.warm = options.save_learned;
    const std::optional<RunReport> warm = Good(options);
    ASSERT_TRUE(warm);
    EXPECT_EQ(warm->output_hash, cold->output_hash);
    EXPECT_EQ(WarmLoads(*warm), cold->info.cards[0].arena_slots);
    EXPECT_LT(Misses(*warm), Misses(*cold));
    const Counters& c = warm->stats.counters;
    EXPECT_EQ(c.storage.units_warm, WarmLoads(*warm));
    EXPECT_EQ(c.storage.bytes_warm, c.cards[0].bytes_h2d_warm);
    EXPECT_GT(c.storage.bytes_warm, 0u);
  }
}

TEST_F(WarmStartTest, HeatIsWorthMissesAndChangesNoOutput) {
  for (const std::string policy : {"lru", "lfu", "heat"}) {
    SCOPED_TRACE(policy);
    RunOptions options = Half();
    options.runtime.policy = policy;
    const std::optional<RunReport> cold = Good(options);
    ASSERT_TRUE(cold);
    EXPECT_EQ(WarmLoads(*cold), 0u);
    options.warm = HeatFile();
    const std::optional<RunReport> warm = Good(options);
    ASSERT_TRUE(warm);
    EXPECT_EQ(warm->output_hash, cold->output_hash);
    EXPECT_EQ(WarmLoads(*warm), cold->info.cards[0].arena_slots);
    EXPECT_LT(Misses(*warm), Misses(*cold));
    const Counters& c = warm->stats.counters;
    EXPECT_EQ(c.storage.units_warm, WarmLoads(*warm));
    EXPECT_EQ(c.storage.bytes_warm, c.cards[0].bytes_h2d_warm);
    EXPECT_GT(c.storage.bytes_warm, 0u);
  }
}

TEST_F(WarmStartTest, DecisionsAreEqualWhateverTheStorage) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  SetCards(2, &options.runtime);
  options.runtime.host_tier_bytes = 400'000;
  options.warm = HeatFile();
  const std::optional<RunReport> first = Good(options);
  ASSERT_TRUE(first);
  EXPECT_GT(WarmLoads(*first), 40u);
  for (const char* engine : {"pread", "buffered"}) {
    options.runtime.io_engine = engine;
    const std::optional<RunReport> report = Good(options);
    ASSERT_TRUE(report);
    EXPECT_EQ(scheduler::Decided(report->stats.counters),
              scheduler::Decided(first->stats.counters));
    EXPECT_EQ(report->output_hash, first->output_hash);
  }
  io::FaultPlan plan;
  plan.seed = 3;
  plan.delay_us_max = 500;
  plan.hold_back = 5;
  plan.rate(io::Fault::kShortRead) = 0.2;
  options.open = OpenOver(plan);
  const std::optional<RunReport> slow = Good(options);
  ASSERT_TRUE(slow);
  EXPECT_EQ(scheduler::Decided(slow->stats.counters), scheduler::Decided(first->stats.counters));
}

TEST_F(WarmStartTest, TheStaticPolicyKeepsExactlyItsProfile) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.runtime.policy = "static";
  const Result<RunReport> refused = RunTrace(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("profile"), std::string::npos);
  options.warm = HeatFile();
  const std::optional<RunReport> report = Good(options);
  ASSERT_TRUE(report);
  const CardCounters& card = report->stats.counters.cards[0];
  EXPECT_EQ(card.warm_loads, report->info.cards[0].arena_slots);
  EXPECT_EQ(card.inserted, card.warm_loads);
  EXPECT_EQ(card.evicted, 0u);
  EXPECT_EQ(card.ring_units, card.misses);
  EXPECT_EQ(report->output_hash, Good(Resident(SmallModel::Get().gguf))->output_hash);
}

TEST_F(WarmStartTest, AUnitThatCannotBeReadIsLeftOutAndNoted) {
  RunOptions options = Resident(SmallModel::Get().gguf);
  options.warm = HeatFile(/*until=*/2);
  options.passes.max_passes = 1;
  io::FaultPlan plan;
  plan.seed = 1;
  const auto catalog = Catalog::Open(options.runtime.model);
  ASSERT_TRUE(catalog.ok());
  const Extent& extent = (*catalog)->extents((*catalog)->unit({1, 0}))[0];
  io::FaultRange range;
  range.file = extent.file;
  range.begin = extent.offset;
  range.end = extent.offset + 1;
  range.times = 1;
  plan.ranges.push_back(range);
  options.open = OpenOver(plan);
  const Result<RunReport> report = RunTrace(options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  const uint64_t asked = 2 * kLayers;
  EXPECT_EQ(WarmLoads(*report), asked);
  EXPECT_EQ(report->stats.counters.failed_reads, 1u);
  EXPECT_EQ(report->failed_steps, 0u);  // read again on demand
  bool noted = false;
  for (const std::string& note : report->info.notes) {
    noted |= note.find("1 of " + std::to_string(asked) + " units could not be loaded") != note.npos;
  }
  EXPECT_TRUE(noted);
}

TEST_F(WarmStartTest, FilesThatDoNotFit) {
  RunOptions options = Half();
  options.warm = directory_ / "nowhere";
  EXPECT_FALSE(RunTrace(options).ok());
  UnitHeat heat;
  heat.layers = kLayers;
  heat.experts = 3;
  heat.heat.assign(kLayers * 3, 1);
  options.warm = directory_ / "other";
  ASSERT_TRUE(WriteHeatFile(options.warm, heat).ok());
  const Result<RunReport> other = RunTrace(options);
  EXPECT_EQ(other.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(other.status().message().find("--warm"), std::string::npos);
  heat.experts = kExperts;
  heat.heat.assign(kLayers * kExperts, 0);
  ASSERT_TRUE(WriteHeatFile(options.warm, heat, true).ok());
  EXPECT_NE(RunTrace(options).status().message().find("no unit has any heat"), std::string::npos);
  // And without files: heat of another size, preload of nothing.
  options.warm.clear();
  options.runtime.heat = {1, 2, 3};
  EXPECT_EQ(RunTrace(options).status().code(), StatusCode::kInvalidArgument);
  options.runtime.heat.clear();
  options.runtime.preload = true;
  EXPECT_EQ(RunTrace(options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::testing
