// One trace, one model, one hash: wherever the units are, in whatever waves, however they are read.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runtime/catalog/catalog.h"
#include "runtime/pack/verify.h"
#include "runtime/trace/trace.h"
#include "scheduler/counters.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

uint64_t ReferenceHash() {
  static const uint64_t hash = *Good(Resident(SmallModel::Get().gguf))->output_hash;
  return hash;
}

std::optional<RunReport> ExpectSame(const RunOptions& options) {
  std::optional<RunReport> report = Good(options);
  if (report) {
    EXPECT_EQ(report->output_hash, ReferenceHash());
  }
  return report;
}

TEST(RunEquality, ResidentMovesEveryUsedUnitOnce) {
  const RunOptions options = Resident(SmallModel::Get().gguf);
  const std::optional<RunReport> report = ExpectSame(options);
  ASSERT_TRUE(report);
  const auto catalog = Catalog::Open(options.runtime.model);
  const auto trace = TraceFile::Open(options.trace);
  ASSERT_TRUE(catalog.ok() && trace.ok());
  std::vector<bool> used((*catalog)->units());
  for (uint64_t row = 0; row < (*trace)->info().rows; ++row) {
    const auto ids = (*trace)->Experts(row);
    ASSERT_TRUE(ids.ok());
    for (uint32_t i = 0; i < ids->size(); ++i) {
      if ((*ids)[i] >= 0) used[i / kTopK * kExperts + (*ids)[i]] = true;
    }
  }
  uint64_t units = 0, bytes = 0;
  for (UnitIndex unit = 0; unit < used.size(); ++unit) {
    if (!used[unit]) continue;
    ++units;
    for (const Extent& extent : (*catalog)->extents(unit)) bytes += extent.bytes;
  }
  const Counters& c = report->stats.counters;
  EXPECT_EQ(c.storage.units_demand, units);
  EXPECT_EQ(c.storage.bytes_demand, bytes);
  EXPECT_EQ(c.cards[0].bytes_h2d_demand, bytes);
  EXPECT_EQ(report->stats.moved.h2d, bytes);
  EXPECT_EQ(c.cards[0].evicted, 0u);
  EXPECT_EQ(c.passes, 14u);
  EXPECT_EQ(c.steps, 14u * kLayers);
  EXPECT_EQ(c.rows, 28u * kLayers);
  EXPECT_NE(report->bound_by, "");
}

// With units of one size every sum of bytes is a number of units times that size.
TEST(RunEquality, MovedBytesAreUnitsTimesSize) {
  const auto catalog = Catalog::Open(SmallModel::Get().one_class);
  ASSERT_TRUE(catalog.ok());
  ASSERT_EQ((*catalog)->size_classes().size(), 1u);
  const uint64_t size = (*catalog)->size_classes()[0].payload_bytes;
  for (const bool exclusive : {false, true}) {
    RunOptions options = Resident(SmallModel::Get().one_class);
    options.runtime.cards[0].arena_bytes = 12 * (*catalog)->size_classes()[0].card_bytes;
    options.runtime.host_tier_bytes = 20 * (*catalog)->size_classes()[0].host_bytes;
    options.runtime.host_exclusive = exclusive;
    const std::optional<RunReport> report = Good(options);
    ASSERT_TRUE(report);
    const Counters& c = report->stats.counters;
    EXPECT_GT(c.storage.units_demand, 96u);
    EXPECT_EQ(c.storage.bytes_demand, c.storage.units_demand * size);
    EXPECT_EQ(c.cards[0].bytes_h2d_demand, c.cards[0].units_h2d * size);
    EXPECT_EQ(c.cards[0].bytes_d2h, c.cards[0].units_d2h * size);
    EXPECT_EQ(report->stats.moved.h2d, c.cards[0].units_h2d * size);
    EXPECT_EQ(report->stats.moved.d2h, c.cards[0].units_d2h * size);
    EXPECT_EQ(c.cards[0].units_d2h > 0, exclusive);
  }
}

TEST(RunEquality, AtTheHardMinimumThatTheMessageNames) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  ASSERT_GT(SmallModel::Get().minimum_arena, 0u);
  const std::optional<RunReport> report = ExpectSame(options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->info.cards[0].arena_slots, 2u * 3 * kTopK);
  EXPECT_GT(report->stats.counters.cards[0].evicted, 0u);
  options.runtime.cards[0].arena_bytes -= 1;
  const Result<RunReport> refused = RunTrace(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(AtLeast(refused.status().message()), SmallModel::Get().minimum_arena);
}

TEST(RunEquality, WhateverTheChunkAndRing) {
  for (const uint32_t chunk : {1u, 4u, 64u}) {
    for (const uint32_t ring : {0u, 1u}) {
      RunOptions options = Tight(SmallModel::Get().gguf);
      options.runtime.chunk = chunk;
      options.runtime.ring_units = ring;
      const std::optional<RunReport> report = ExpectSame(options);
      ASSERT_TRUE(report);
      if (ring == 1) {
        EXPECT_EQ(report->info.chunk, 1u);
      }
    }
  }
}

TEST(RunEquality, WhateverThePolicies) {
  std::vector<std::string> names = {"heat:pins=100%"};
  for (const policies::PolicyInfo& info : policies::Policies()) {
    // A run has no profile to give, and no future.
    if (!info.needs_heat && !info.needs_future) names.emplace_back(info.name);
  }
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    RunOptions options = Tight(SmallModel::Get().gguf);
    options.runtime.policy = name;
    ExpectSame(options);
    options.runtime.host_policy = name;
    options.runtime.policy = "lru";
    options.runtime.host_tier_bytes = 600'000;
    options.runtime.sweep_rows = 4;  // the prompts are sweeps
    ExpectSame(options);
  }
}

TEST(RunEquality, WhateverTheCardsTiersAndSlots) {
  for (const uint32_t cards : {1u, 2u, 3u}) {
    for (const uint64_t host_tier : {uint64_t{0}, uint64_t{400'000}, uint64_t{64} << 20}) {
      for (const bool exclusive : {false, true}) {
        if (exclusive && host_tier == 0) continue;
        SCOPED_TRACE(std::to_string(cards) + " cards, host tier " + std::to_string(host_tier) +
                     (exclusive ? " exclusive" : ""));
        RunOptions options = Tight(SmallModel::Get().gguf);
        SetCards(cards, &options.runtime);
        options.runtime.host_tier_bytes = host_tier;
        options.runtime.host_exclusive = exclusive;
        options.runtime.slots =
            cards == 2 ? SlotSharingChoice::kPerLayer : SlotSharingChoice::kShared;
        const std::optional<RunReport> report = ExpectSame(options);
        ASSERT_TRUE(report);
        const Counters& c = report->stats.counters;
        // A small tier may only mirror what the cards have.
        EXPECT_GE(c.host.hits > 0, host_tier > 1'000'000);
        for (const CardCounters& card : c.cards) EXPECT_GT(card.misses, 0u);
      }
    }
  }
}

TEST(RunEquality, WhateverTheForm) {
  const SmallModel& model = SmallModel::Get();
  for (const std::string& path : {model.gguf, model.split, model.pack}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(ExpectSame(Resident(path))->verified, path == model.pack);
    ExpectSame(Tight(path));
  }
  RunOptions unproved = Tight(model.pack);
  unproved.runtime.verify_checksums = false;
  EXPECT_FALSE(ExpectSame(unproved)->verified);
}

// What is decided, to the last counter, does not depend on how or in what order bytes arrive.
TEST(RunEquality, WhateverTheStorage) {
  struct Engine {
    const char* name;
    const char* rung;
  };
  RunOptions options = Tight(SmallModel::Get().gguf);
  SetCards(2, &options.runtime);
  options.runtime.host_tier_bytes = 400'000;
  const std::optional<RunReport> first = ExpectSame(options);
  ASSERT_TRUE(first);
  const std::string decisions = scheduler::Decided(first->stats.counters);
  for (const Engine& engine :
       {Engine{"uring", "io_uring"}, Engine{"pread", "pread"}, Engine{"buffered", "buffered"}}) {
    SCOPED_TRACE(engine.name);
    options.runtime.io_engine = engine.name;
    options.runtime.io_strict = true;
    const auto opened = OpenRuntime(options.runtime);
    if (!opened.ok()) {
      std::printf("skipped: %s\n", opened.status().ToString().c_str());
      continue;
    }
    EXPECT_EQ((*opened)->info().io_rung.rfind(engine.rung, 0), 0u) << (*opened)->info().io_rung;
    const std::optional<RunReport> report = ExpectSame(options);
    ASSERT_TRUE(report);
    EXPECT_EQ(scheduler::Decided(report->stats.counters), decisions);
  }
}

TEST(RunEquality, WhateverGoesWrongAndIsMadeGood) {
  for (const bool exclusive : {false, true}) {
    RunOptions options = Tight(SmallModel::Get().pack);
    SetCards(2, &options.runtime);
    options.runtime.host_tier_bytes = 400'000;
    options.runtime.host_exclusive = exclusive;
    const std::optional<RunReport> good = ExpectSame(options);
    ASSERT_TRUE(good);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      io::FaultPlan plan;
      plan.seed = seed;
      plan.delay_us_max = seed % 2 == 0 ? 1500 : 0;
      plan.hold_back = static_cast<uint32_t>(seed * 3);
      plan.rate(io::Fault::kShortRead) = 0.2;
      plan.rate(io::Fault::kBusyRecovers) = 0.1;
      plan.rate(io::Fault::kIoErrorRecovers) = 0.2;
      options.open = OpenOver(plan);
      const std::optional<RunReport> report = ExpectSame(options);
      ASSERT_TRUE(report);
      EXPECT_GT(report->stats.moved.retries, 0u);
      EXPECT_EQ(scheduler::Decided(report->stats.counters),
                scheduler::Decided(good->stats.counters));
    }
  }
}

TEST(RunEquality, StreamsAndWindowsWhateverThePlacement) {
  for (const uint32_t streams : {1u, 2u, 5u}) {
    for (const uint32_t window : {1u, 3u}) {
      SCOPED_TRACE(std::to_string(streams) + " streams, window " + std::to_string(window));
      RunOptions resident = Resident(SmallModel::Get().gguf);
      resident.trace = SmallModel::Get().plain_trace;
      resident.passes.streams = streams;
      resident.passes.window = window;
      const std::optional<RunReport> first = Good(resident);
      RunOptions tight = Tight(SmallModel::Get().split);
      tight.trace = resident.trace;
      tight.passes = resident.passes;
      SetCards(2, &tight.runtime);
      const std::optional<RunReport> second = Good(tight);
      ASSERT_TRUE(first && second);
      EXPECT_EQ(first->output_hash, second->output_hash);
      EXPECT_EQ(first->tokens, 28u);
    }
  }
}

TEST(RunEquality, SeedAndRoutingDecideTheHash) {
  RunOptions options = Resident(SmallModel::Get().gguf);
  options.runtime.seed = 2;
  EXPECT_NE(Good(options)->output_hash, ReferenceHash());
  options = Resident(SmallModel::Get().gguf);
  options.trace = SmallModel::Get().File("other.safetensors");
  WriteTrace(options.trace, {.seed = 3});
  EXPECT_NE(Good(options)->output_hash, ReferenceHash());
  options.runtime.compute = false;
  const Result<RunReport> moved = RunTrace(options);
  ASSERT_TRUE(moved.ok()) << moved.status().ToString();
  EXPECT_FALSE(moved->output_hash.has_value());
}

// ---- a byte that changes

// A copy of the model in which one byte of the unit's last tensor decodes to another value.
std::string Damaged(const std::string& model, UnitRef ref) {
  const auto catalog = Catalog::Open(model, {.ignore_sidecar = true});
  EXPECT_TRUE(catalog.ok()) << catalog.status().ToString();
  const std::span<const Extent> extents = (*catalog)->extents((*catalog)->unit(ref));
  const Extent& extent = extents.back();
  // Both down types have blocks of 18 bytes, the scale first; a pack's unit ends with that tensor.
  const uint64_t at = extent.offset + extent.bytes - 18 * 100 + 7;
  const std::string copy = SmallModel::Get().File("damaged.gguf");
  std::filesystem::copy_file(model, copy, std::filesystem::copy_options::overwrite_existing);
  std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  file.close();
  EXPECT_TRUE(file.good());
  return copy;
}

TEST(RunEquality, AnotherWeightGivesAnotherHash) {
  const std::string& gguf = SmallModel::Get().gguf;
  for (const uint32_t layer : {0u, 3u}) {
    EXPECT_NE(Good(Tight(Damaged(gguf, {layer, 0})))->output_hash, ReferenceHash());
    EXPECT_EQ(Good(Tight(Damaged(gguf, {layer, kUnusedExpert})))->output_hash, ReferenceHash());
  }
}

void ExpectChecksumFailure(const std::string& model, const std::string& unit) {
  const Result<RunReport> report = RunTrace(Tight(model));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GT(report->failed_steps, 0u);
  EXPECT_LT(report->failed_steps, report->stats.counters.steps);
  EXPECT_FALSE(report->output_hash.has_value());
  EXPECT_EQ(report->first_failure.code(), StatusCode::kDataLoss);
  EXPECT_NE(report->first_failure.message().find("checksum"), std::string::npos)
      << report->first_failure.ToString();
  EXPECT_NE(report->first_failure.message().find(unit), std::string::npos)
      << report->first_failure.ToString();
  EXPECT_NE(report->first_failure.message().find(model), std::string::npos);
}

TEST(RunEquality, APackNamesTheDamagedUnit) {
  const std::string& pack = SmallModel::Get().pack;
  ExpectChecksumFailure(Damaged(pack, {2, 1}), "blk.3 expert 1 ");
  EXPECT_EQ(Good(Tight(Damaged(pack, {2, kUnusedExpert})))->output_hash, ReferenceHash());
  RunOptions unproved = Tight(Damaged(pack, {2, 1}));
  unproved.runtime.verify_checksums = false;
  EXPECT_NE(Good(unproved)->output_hash, ReferenceHash());
}

TEST(RunEquality, SoDoesASidecar) {
  const std::string copy = Damaged(SmallModel::Get().gguf, {1, 0});
  std::filesystem::copy_file(SmallModel::Get().gguf, copy,
                             std::filesystem::copy_options::overwrite_existing);
  models::VerifyOptions options;
  options.model = copy;
  options.write = true;
  const auto written = models::VerifyModel(options, nullptr);
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  const std::optional<RunReport> proved = ExpectSame(Tight(copy));
  ASSERT_TRUE(proved);
  EXPECT_TRUE(proved->verified);
  ExpectChecksumFailure(Damaged(SmallModel::Get().gguf, {1, 0}), "blk.2 expert 0 ");
  std::filesystem::remove(written->written);
}

}  // namespace
}  // namespace berth::testing
