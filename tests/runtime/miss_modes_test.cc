// The same bits wherever a miss is computed: staged, on the host, or split between both.
#include <gtest/gtest.h>

#include <string>

#include "runtime/catalog/catalog.h"
#include "scheduler/counters.h"
#include "tests/runtime/session_work.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

constexpr MissChoice kModes[] = {MissChoice::kStage, MissChoice::kHost, MissChoice::kAuto,
                                 MissChoice::kInPlace};

uint64_t ReferenceHash() {
  static const uint64_t hash = *Good(Resident(SmallModel::Get().gguf))->output_hash;
  return hash;
}

uint64_t HostComputed(const RunReport& report) {
  uint64_t units = 0;
  for (const CardCounters& card : report.stats.counters.cards) units += card.host_computed;
  return units;
}

TEST(MissModes, OneHashWhateverTheCardsTiersAndForms) {
  const SmallModel& model = SmallModel::Get();
  for (const std::string& path : {model.gguf, model.split, model.pack}) {
    for (const uint32_t cards : {1u, 2u}) {
      for (const char* tier : {"none", "inclusive", "exclusive"}) {
        for (const MissChoice miss : kModes) {
          SCOPED_TRACE(path + ", " + std::to_string(cards) + " cards, host tier " + tier +
                       ", mode " + std::to_string(static_cast<int>(miss)));
          RunOptions options = Tight(path);
          SetCards(cards, &options.runtime);
          options.runtime.miss = miss;
          options.runtime.host_tier_bytes = tier == std::string("none") ? 0 : 500'000;
          options.runtime.host_exclusive = tier == std::string("exclusive");
          const RunReport report = Good(options).value();
          EXPECT_EQ(report.output_hash, ReferenceHash());
          EXPECT_EQ(HostComputed(report) > 0, miss != MissChoice::kStage);
          if (miss == MissChoice::kHost) {
            // Prompts of 9 and 7 rows may have units of more than 8; the rest goes to the host.
            EXPECT_GT(2 * HostComputed(report), report.stats.counters.host.requests);
            EXPECT_GT(report.stats.time.host_compute_s, 0.0);
          }
        }
      }
    }
  }
}

TEST(MissModes, WhateverThePolicyAndStaging) {
  for (const char* policy : {"lru", "lfu", "hazard", "s3-fifo", "heat:pins=100%"}) {
    for (const MissChoice miss : {MissChoice::kHost, MissChoice::kAuto}) {
      SCOPED_TRACE(policy);
      RunOptions options = Tight(SmallModel::Get().gguf);
      options.runtime.policy = policy;
      options.runtime.host_policy = policy;
      options.runtime.miss = miss;
      options.runtime.sweep_rows = 4;           // the prompts are sweeps
      options.runtime.staging_bytes = 100'000;  // two or three units
      options.runtime.chunk = 1;
      EXPECT_EQ(Good(options)->output_hash, ReferenceHash());
      options.runtime.host_tier_bytes = 600'000;
      EXPECT_EQ(Good(options)->output_hash, ReferenceHash());
    }
  }
}

TEST(MissModes, WhateverGoesWrongAndIsMadeGood) {
  for (const MissChoice miss : {MissChoice::kHost, MissChoice::kAuto}) {
    RunOptions options = Tight(SmallModel::Get().pack);
    SetCards(2, &options.runtime);
    options.runtime.miss = miss;
    options.runtime.host_tier_bytes = 400'000;
    const std::string decisions = scheduler::Decided(Good(options)->stats.counters);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      io::FaultPlan plan;
      plan.seed = seed;
      plan.delay_us_max = seed % 2 == 0 ? 1500 : 0;
      plan.hold_back = static_cast<uint32_t>(seed * 3);
      plan.rate(io::Fault::kShortRead) = 0.2;
      plan.rate(io::Fault::kBusyRecovers) = 0.1;
      plan.rate(io::Fault::kIoErrorRecovers) = 0.2;
      options.open = OpenOver(plan);
      const RunReport report = Good(options).value();
      EXPECT_EQ(report.output_hash, ReferenceHash());
      EXPECT_EQ(scheduler::Decided(report.stats.counters), decisions);
    }
  }
}

// Sessions with several steps in flight, over and over: units are computed from RAM while others
// are read, evicted and loaded behind their steps.
TEST(MissModes, SeveralStepsInFlight) {
  constexpr uint32_t kWorks = 24;
  for (const bool exclusive : {false, true}) {
    RuntimeOptions options =
        SessionOptionsOf(SmallModel::Get().gguf, SmallModel::Get().minimum_arena);
    options.miss = MissChoice::kHost;
    options.max_in_flight = 4;
    options.host_tier_bytes = exclusive ? 400'000 : 0;
    options.host_exclusive = exclusive;
    SetCards(2, &options);
    const auto runtime = OpenRuntime(options);
    ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
    const auto session = (*runtime)->NewSession();
    ASSERT_TRUE(session.ok());
    std::vector<Work> works;
    for (uint32_t i = 0; i < kWorks; ++i) works.emplace_back(i);
    for (int round = 0; round < 5; ++round) {
      for (uint32_t first = 0; first < kWorks; first += 4) {
        std::vector<Ticket> tickets;
        for (uint32_t i = first; i < first + 4; ++i) {
          const auto ticket = (*session)->Enqueue(works[i].Prepare());
          ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
          tickets.push_back(*ticket);
        }
        for (uint32_t i = first; i < first + 4; ++i) {
          ASSERT_TRUE((*session)->Wait(tickets[i - first]).ok());
          EXPECT_EQ(works[i].y, ExpectedOutputs(kWorks)[i]);
        }
      }
    }
    uint64_t on_host = 0, behind = 0;
    for (const CardCounters& card : (*runtime)->stats().counters.cards) {
      on_host += card.host_computed;
      behind += card.behind_loads;
    }
    EXPECT_GT(on_host, 50u);
    EXPECT_GT(behind, 10u);
  }
}

TEST(MissModes, AProfileThatIsNotThereIsRefused) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.runtime.miss = MissChoice::kAuto;
  options.runtime.profile = "/nowhere.json";
  const Result<RunReport> report = RunTrace(options);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("/nowhere.json"), std::string::npos);
}

}  // namespace
}  // namespace berth::testing
