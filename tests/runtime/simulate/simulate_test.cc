// Simulations as a whole: what they need, that time adds up, and that a better machine is no worse.
#include "runtime/simulate/simulate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mix.h"
#include "runtime/trace/memory_trace.h"

namespace berth {
namespace {

constexpr uint32_t kLayers = 6, kExperts = 64, kTopK = 4;
constexpr uint64_t kUnitBytes = 1 << 20;

// Rows that keep half of what the row before had.
std::unique_ptr<TraceFile> Trace(uint32_t pass_rows = 1) {
  TraceData data;
  data.info.layers = kLayers;
  data.info.experts = kExperts;
  data.info.top_k = kTopK;
  data.info.request_rows = {100, 140};
  data.info.rows = 240;
  if (pass_rows > 1) data.info.pass_rows.assign(240 / pass_rows, pass_rows);
  data.info.layer_unit_bytes.assign(kLayers, kUnitBytes);
  for (uint64_t row = 0; row < data.info.rows; ++row) {
    for (uint32_t l = 0; l < kLayers; ++l) {
      for (uint32_t k = 0; k < kTopK; ++k) {
        const uint64_t drawn = ScatterBits((row / (k < 2 ? 8 : 1)) * 131 + l) % (kExperts / kTopK);
        data.experts.push_back(static_cast<int16_t>(drawn * kTopK + k));
      }
    }
  }
  Result<std::unique_ptr<TraceFile>> trace = MakeMemoryTrace(std::move(data));
  EXPECT_TRUE(trace.ok()) << trace.status().ToString();
  return std::move(*trace);
}

SimulateOptions Desk() {
  SimulateOptions options;
  options.profile.name = "desk";
  options.profile.storage.bytes_per_s = 4e9;
  options.profile.storage.latency_s = 1e-4;
  options.profile.links = {{"card:0", 10e9}};
  CardProfile card;
  card.card = "card:0";
  card.memory_bytes = 120 * kUnitBytes + 10'000;  // its pointer table is in it, too
  options.profile.cards = {card};
  options.profile.host.pass_s = 1e-3;
  options.profile.host.round_trip_s = 1e-5;
  options.run.runtime.cards[0].device = "card:0";
  options.run.runtime.cards[0].arena_bytes = 100 * kUnitBytes;
  return options;
}

RunReport Simulated(const SimulateOptions& options, uint32_t pass_rows = 1) {
  Result<RunReport> report = Simulate(options, Trace(pass_rows).get());
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? std::move(*report) : RunReport();
}

bool HasNote(const RunReport& report, const std::string& part) {
  for (const std::string& note : report.info.notes) {
    if (note.find(part) != note.npos) return true;
  }
  return false;
}

TEST(SimulateTest, TimeAddsUpAndIsTheSameEveryTime) {
  const RunReport report = Simulated(Desk());
  EXPECT_NEAR(report.stats.time.total_s(), report.wall_s, 1e-9);
  EXPECT_NEAR(report.inputs_s, 240 * 1e-3, 1e-9);
  EXPECT_EQ(report.tokens, 240u);
  EXPECT_TRUE(report.simulated);
  EXPECT_FALSE(report.output_hash.has_value());
  EXPECT_EQ(report.info.machine, "desk");
  const RunReport again = Simulated(Desk());
  EXPECT_EQ(again.wall_s, report.wall_s);
  EXPECT_EQ(again.stats.time.link_s, report.stats.time.link_s);
  EXPECT_EQ(again.stats.counters.cards[0].hits_late, report.stats.counters.cards[0].hits_late);
}

TEST(SimulateTest, NoRateIsExceeded) {
  for (const uint64_t host_tier : {uint64_t{0}, uint64_t{1} << 30}) {
    SimulateOptions options = Desk();
    options.run.runtime.host_tier_bytes = host_tier;
    const RunReport report = Simulated(options);
    EXPECT_LE(static_cast<double>(report.stats.moved.storage) / report.wall_s, 4e9);
    EXPECT_LE(static_cast<double>(report.stats.moved.h2d) / report.wall_s, 10e9);
    EXPECT_GT(report.stats.moved.h2d, 0u);
  }
  // A slow link alone: all of the time is its.
  SimulateOptions options = Desk();
  options.run.runtime.host_tier_bytes = 1 << 30;
  options.profile.links[0].bytes_per_s = 1e7;
  const RunReport report = Simulated(options);
  EXPECT_EQ(report.bound_by, "link");
  const double rate = static_cast<double>(report.stats.moved.h2d) / report.stats.time.link_s;
  EXPECT_LE(rate, 1e7);
  EXPECT_GT(rate, 0.97e7);
}

TEST(SimulateTest, ABetterMachineIsNoSlower) {
  const auto wall = [](double storage, double link, double kernel) {
    SimulateOptions options = Desk();
    options.profile.storage.bytes_per_s = storage;
    options.profile.links[0].bytes_per_s = link;
    options.profile.cards[0].bytes_per_s = kernel;
    return Simulated(options).wall_s;
  };
  double storage = 1e9, link = 1e9, kernel = 1e10;
  double last = wall(storage, link, kernel);
  for (int i = 0; i < 12; ++i) {
    (i % 3 == 0 ? storage : i % 3 == 1 ? link : kernel) *= 2;
    const double now = wall(storage, link, kernel);
    EXPECT_LT(now, last) << storage << ' ' << link << ' ' << kernel;
    last = now;
  }
}

TEST(SimulateTest, WhatTimeDoesChangesNoDecision) {
  SimulateOptions options = Desk();
  const Counters slow = Simulated(options).stats.counters;
  options.profile.storage.bytes_per_s = 1e12;
  options.profile.links[0].bytes_per_s = 1e12;
  EXPECT_EQ(Simulated(options).stats.counters.decisions, slow.decisions);
}

TEST(SimulateTest, SizesComeFromTheTraceOrTheFlags) {
  SimulateOptions options = Desk();
  EXPECT_EQ(Simulated(options).stats.counters.storage.bytes_demand %
                (kUnitBytes * Simulated(options).stats.counters.storage.units_demand),
            0u);
  options.stated.unit_bytes = {2 << 20};
  const Counters twice = Simulated(options).stats.counters;
  EXPECT_EQ(twice.storage.bytes_demand, twice.storage.units_demand * (2 << 20));
  options.stated.unit_bytes = {1 << 20, 2 << 20};
  EXPECT_FALSE(Simulate(options, Trace().get()).ok());
  options.stated.unit_bytes = std::vector<uint64_t>(kLayers, 1 << 20);
  options.stated.unit_bytes[2] = 3 << 20;
  EXPECT_EQ(Simulated(options).info.cards[0].class_slots.size(), 2u);
}

TEST(SimulateTest, SaysWhatIsMissing) {
  const auto expect = [](const SimulateOptions& options, const std::string& part) {
    const Result<RunReport> report = Simulate(options, Trace().get());
    ASSERT_FALSE(report.ok()) << part;
    EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(report.status().message().find(part), std::string_view::npos)
        << report.status().ToString();
  };
  SimulateOptions options = Desk();
  options.run.runtime.cards[0].device = "other:0";
  options.run.runtime.cards[0].arena_bytes = 0;
  expect(options, "--arena");
  options = Desk();
  options.stated.layers = kLayers + 1;
  options.stated.unit_bytes = {kUnitBytes};
  expect(options, "MoE layers");
  options = Desk();
  options.run.runtime.cards[0].arena_bytes = kUnitBytes;
  expect(options, "raise --arena to at least");
  options = Desk();
  options.run.runtime.policy = "lrru";
  expect(options, "lru");
}

TEST(SimulateTest, AnOpenArenaTakesWhatTheProfileLeaves) {
  SimulateOptions options = Desk();
  options.run.runtime.cards[0].arena_bytes = 0;
  const RunReport report = Simulated(options);
  EXPECT_EQ(report.info.cards[0].arena_slots + report.info.cards[0].ring_slots, 120u);
  // A second card of which the profile says nothing is taken to be as the first.
  options.run.runtime.cards.push_back(options.run.runtime.cards[0]);
  options.run.runtime.cards[1].device = "card:1";
  const RunReport two = Simulated(options);
  EXPECT_EQ(two.info.cards[1].arena_slots + two.info.cards[1].ring_slots, 120u);
  EXPECT_TRUE(HasNote(two, "card:1"));
  // Of a model that is only stated, nobody knows what a card needs to compute it.
  EXPECT_TRUE(HasNote(two, "what cards keep for computing is not counted"));
}

// A larger card may be played; that it is larger is said, and --memory is obeyed.
TEST(SimulateTest, AnArenaThatIsLargerThanTheProfilesCard) {
  SimulateOptions options = Desk();
  options.run.runtime.cards[0].arena_bytes = 119 * kUnitBytes;
  EXPECT_TRUE(HasNote(Simulated(options), "a run would refuse them"));
  options.run.runtime.cards[0].arena_bytes = 100 * kUnitBytes;
  EXPECT_FALSE(HasNote(Simulated(options), "a run would refuse them"));
  options.run.runtime.cards[0].memory_bytes = 100 * kUnitBytes;
  const Status refused = Simulate(options, Trace().get()).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(refused.message().find("lower --arena"), std::string_view::npos);
}

TEST(SimulateTest, ANaiveEngineThrowsOutWhatItNeeds) {
  SimulateOptions options = Desk();
  options.run.runtime.policy = "lru";
  options.run.runtime.slots = SlotSharingChoice::kPerLayer;
  // Steps of 20 rows want up to 54 units of a layer that has 20 slots.
  options.run.runtime.cards[0].arena_bytes = kLayers * 20 * kUnitBytes;
  options.run.runtime.host_tier_bytes = uint64_t{1} << 30;
  options.run.runtime.chunk = 8;
  const RunReport chunked = Simulated(options, 20);
  options.run.runtime.chunk = 0;
  const RunReport naive = Simulated(options, 20);
  const CardCounters& card = naive.stats.counters.cards[0];
  EXPECT_EQ(naive.stats.counters.distinct_units, chunked.stats.counters.distinct_units);
  EXPECT_EQ(card.hits + card.misses, naive.stats.counters.distinct_units);
  EXPECT_GT(card.units_h2d, card.misses);
  EXPECT_GT(card.misses, chunked.stats.counters.cards[0].misses);
  EXPECT_GT(naive.wall_s, 1.5 * chunked.wall_s);
  EXPECT_NEAR(naive.stats.time.total_s(), naive.wall_s, 1e-9);
  EXPECT_EQ(naive.stats.moved.h2d, card.units_h2d * kUnitBytes);
  // With slots enough nothing is staged twice, and the counts are those of LRU.
  options.run.runtime.cards[0].arena_bytes = kLayers * 60 * kUnitBytes;
  const RunReport roomy = Simulated(options, 20);
  EXPECT_EQ(roomy.stats.counters.cards[0].units_h2d, roomy.stats.counters.cards[0].misses);
  options.run.runtime.chunk = 8;
  EXPECT_EQ(Simulated(options, 20).stats.counters.cards[0].misses,
            roomy.stats.counters.cards[0].misses);
}

}  // namespace
}  // namespace berth
