// The reference machine replayed: what was published about it beside what the simulator makes of
// its profile. docs/simulator.md holds the table.
//
//   reference_machine [--smoke]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/simulate/simulate.h"
#include "runtime/synth/synth.h"
#include "runtime/trace/memory_trace.h"

namespace berth {
namespace {

// 48 layers of 512 experts, top-10; 10,352 slots of 24,576 (forum report, July-Nov 2026).
constexpr uint32_t kLayers = 48, kExperts = 512, kTopK = 10;
constexpr uint64_t kSlots = 10'352;
// Three kinds of layers; 46.98 GiB in all come to this mix.
constexpr uint64_t kUnitBytes[] = {2'329'600, 2'176'000, 1'510'400};

std::vector<uint64_t> LayerBytes() {
  std::vector<uint64_t> bytes;
  // 22 layers of the first kind, 16 of the second, 10 of the third: 46.9 GiB.
  for (uint32_t l = 0; l < kLayers; ++l) {
    bytes.push_back(kUnitBytes[l < 22 ? 0 : l < 38 ? 1 : 2]);
  }
  return bytes;
}

SimulateOptions Machine(const std::string& profile, uint32_t cards, uint64_t slots) {
  SimulateOptions options;
  Result<MachineProfile> found = FindMachineProfile(profile);
  BERTH_CHECK_MSG(found.ok(), found.status().ToString().c_str());
  options.profile = std::move(*found);
  options.stated.unit_bytes = LayerBytes();
  uint64_t all = 0;
  for (const uint64_t bytes : options.stated.unit_bytes) all += bytes * kExperts;
  RuntimeOptions& runtime = options.run.runtime;
  runtime.cards.clear();
  for (uint32_t c = 0; c < cards; ++c) {
    CardConfig card;
    card.device = "hip:" + std::to_string(c);
    card.arena_bytes = static_cast<uint64_t>(static_cast<double>(all) * static_cast<double>(slots) /
                                             (kLayers * kExperts) / cards);
    runtime.cards.push_back(card);
  }
  runtime.policy = "lru";
  runtime.chunk = 64;
  // All experts lie in RAM: only first touches come from the drive.
  runtime.host_tier_bytes = 60'000'000'000;
  runtime.host_policy = "lru";
  return options;
}

RunReport Played(const SimulateOptions& options, TraceFile* trace) {
  Result<RunReport> report = Simulate(options, trace);
  if (!report.ok()) std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
  BERTH_CHECK(report.ok());
  return std::move(*report);
}

// A stretch of a replay, after the beginning.
struct Stretch {
  double passes = 0, tokens = 0, seconds = 0, hits = 0, misses = 0, copies = 0;
  double ms_per_pass() const { return 1e3 * seconds / passes; }
  double tokens_per_s() const { return tokens / seconds; }
  double hit_rate() const { return 100 * hits / (hits + misses); }
};

Stretch After(SimulateOptions options, TraceFile* trace, uint64_t skipped, uint64_t passes) {
  const auto sums = [](const RunReport& r) {
    Stretch s;
    s.passes = static_cast<double>(r.stats.counters.passes);
    s.tokens = static_cast<double>(r.tokens);
    s.seconds = r.wall_s;
    for (const CardCounters& card : r.stats.counters.cards) {
      s.hits += static_cast<double>(card.hits);
      s.misses += static_cast<double>(card.misses);
      s.copies += static_cast<double>(card.units_h2d);
    }
    return s;
  };
  options.run.passes.max_passes = passes;
  Stretch all = sums(Played(options, trace));
  options.run.passes.max_passes = skipped;
  const Stretch before = sums(Played(options, trace));
  all.passes -= before.passes;
  all.tokens -= before.tokens;
  all.seconds -= before.seconds;
  all.hits -= before.hits;
  all.misses -= before.misses;
  all.copies -= before.copies;
  return all;
}

// ---- decode: ms per pass = 10.887 x units staged + 0.567 x hits + 9

// Every pass routes to 480 units, of which 7.3 on average were not there: hot experts in turn, and
// cold ones that come back only when they have left long ago.
std::unique_ptr<TraceFile> CostModelTrace(uint64_t passes) {
  constexpr uint32_t kHot = 180;
  TraceData data;
  data.info.layers = kLayers;
  data.info.experts = kExperts;
  data.info.top_k = kTopK;
  data.info.rows = passes;
  data.info.request_rows = {static_cast<uint32_t>(passes)};
  std::vector<uint32_t> hot_next(kLayers, 0), cold_next(kLayers, 0);
  std::vector<uint32_t> cold(kLayers);
  for (uint64_t pass = 0; pass < passes; ++pass) {
    std::fill(cold.begin(), cold.end(), 0);
    // Over all layers in turn, in an order that has nothing to do with theirs.
    for (uint64_t i = pass * 73 / 10; i < (pass + 1) * 73 / 10; ++i) ++cold[i * 29 % kLayers];
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      for (uint32_t k = 0; k < kTopK; ++k) {
        const uint32_t expert = k < cold[layer] ? kHot + cold_next[layer]++ % (kExperts - kHot)
                                                : hot_next[layer]++ % kHot;
        data.experts.push_back(static_cast<int16_t>(expert));
      }
    }
  }
  Result<std::unique_ptr<TraceFile>> trace = MakeMemoryTrace(std::move(data));
  BERTH_CHECK_MSG(trace.ok(), trace.status().ToString().c_str());
  return std::move(*trace);
}

void ReplayCostModel(bool smoke) {
  const uint64_t skipped = smoke ? 40 : 100, passes = smoke ? 60 : 400;
  const std::unique_ptr<TraceFile> trace = CostModelTrace(passes);
  const Stretch s = After(Machine("2x7900xtx-forum", 2, kSlots), trace.get(), skipped, passes);
  std::printf("decode, one stream, profile 2x7900xtx-forum      published   simulated\n");
  std::printf("  units staged a pass                              %7.1f     %7.1f  (given)\n", 7.3,
              s.misses / s.passes);
  std::printf("  hits a pass                                      %7.1f     %7.1f  (given)\n",
              472.7, s.hits / s.passes);
  std::printf("  ms a pass                                        %7.0f     %7.1f\n", 356.0,
              s.ms_per_pass());
  const Stretch grouped = After(Machine("2x7900xtx", 2, kSlots), trace.get(), skipped, passes);
  std::printf("  the same in grouped calls, profile 2x7900xtx           -     %7.1f\n\n",
              grouped.ms_per_pass());
}

// ---- prompts: chunks of 64 against a whole step at once

// Rows of popularity alone: 512 of them route to about 350 experts of a layer.
std::unique_ptr<TraceFile> PromptTrace(bool smoke) {
  SynthOptions synth;
  synth.requests = smoke ? 1 : 3;
  synth.passes = synth.requests;
  synth.pass_rows = 1;
  synth.prompt_rows = smoke ? 1024 : 2048;
  synth.prompt_pass_rows = 512;
  synth.independent = true;
  Result<std::unique_ptr<TraceFile>> trace = MakeSynthTrace(synth);
  BERTH_CHECK_MSG(trace.ok(), trace.status().ToString().c_str());
  return std::move(*trace);
}

void ReplayPrefill(bool smoke) {
  const std::unique_ptr<TraceFile> trace = PromptTrace(smoke);
  struct Way {
    const char* name;
    uint32_t chunk;
    uint64_t slots;
    double published;  // times the first
  };
  // Which two arenas were compared is not published; the report names these two sizes.
  const Way ways[] = {{"whole step at once, 6,938 slots", 0, 6'938, 1},
                      {"whole step at once, 10,352 slots", 0, kSlots, 1.86},
                      {"chunks of 64, 6,938 slots", 64, 6'938, 4.17},
                      {"chunks of 64, 10,352 slots", 64, kSlots, 5.04}};
  std::printf("prompts, 512 rows a pass, one link at a time, profile 2x7900xtx\n");
  std::printf("  %-34s %12s %12s %9s %9s %7s %7s\n", "", "misses/layer", "copies/layer", "hits (%)",
              "tok/s", "x", "publ. x");
  double first = 0;
  for (const Way& way : ways) {
    // A layer is on one card there, so one link moves at a time.
    SimulateOptions options = Machine("2x7900xtx", 1, way.slots);
    options.run.runtime.slots = SlotSharingChoice::kPerLayer;
    options.run.runtime.chunk = way.chunk;
    const Stretch s = After(options, trace.get(), smoke ? 1 : 4, smoke ? 2 : 12);
    if (first == 0) first = s.tokens_per_s();
    std::printf("  %-34s %12.0f %12.0f %9.1f %9.1f %7.2f %7.2f\n", way.name,
                s.misses / s.passes / kLayers, s.copies / s.passes / kLayers, s.hit_rate(),
                s.tokens_per_s(), s.tokens_per_s() / first, way.published);
  }
  std::printf("  published: 65.6 -> 273.6 tok/s by chunks alone; hit rate 52.8 -> 67.0 %%\n\n");
}

// ---- decode in 1, 2, 4, 8 streams

constexpr double kLadder[] = {2.55, 6.97, 12.01, 19.51};  // tok/s, published

void PrintLadder(const char* name, const std::vector<Stretch>& stretches) {
  std::printf("  %s\n", name);
  std::printf("    %7s %11s %11s %9s %9s %9s %7s %9s\n", "streams", "units/pass", "misses/pass",
              "ms/pass", "tok/s", "x", "publ.", "publ. x");
  for (size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& s = stretches[i];
    std::printf("    %7d %11.0f %11.1f %9.1f %9.2f %9.2f %7.2f %9.2f\n", 1 << i,
                (s.hits + s.misses) / s.passes, s.misses / s.passes, s.ms_per_pass(),
                s.tokens_per_s(), s.tokens_per_s() / stretches[0].tokens_per_s(), kLadder[i],
                kLadder[i] / kLadder[0]);
  }
}

std::vector<Stretch> Ladder(const SimulateOptions& machine, TraceFile* trace, bool smoke) {
  std::vector<Stretch> stretches;
  for (uint32_t streams = 1; streams <= 8; streams *= 2) {
    SimulateOptions options = machine;
    options.run.passes.streams = streams;
    const uint64_t passes = (smoke ? 160 : 1600) / streams;
    stretches.push_back(After(options, trace, passes / 4, passes));
  }
  return stretches;
}

void ReplayLadder(bool smoke) {
  SynthOptions synth;
  synth.requests = 16;
  synth.passes = smoke ? 320 : 3200;
  synth.pass_rows = 1;
  synth.short_share = 0;
  Result<std::unique_ptr<TraceFile>> trace = MakeSynthTrace(synth);
  BERTH_CHECK_MSG(trace.ok(), trace.status().ToString().c_str());
  std::printf("decode in streams, synthetic trace\n");
  SimulateOptions machine = Machine("2x7900xtx-forum", 2, kSlots);
  const std::vector<Stretch> forum = Ladder(machine, trace->get(), smoke);
  PrintLadder("profile 2x7900xtx-forum: every unit sent out by itself", forum);

  // A constant a pass and one cost for every unit, through the published passes of 2 and 8 streams.
  const auto units = [&](size_t i) { return (forum[i].hits + forum[i].misses) / forum[i].passes; };
  const double two = 2 / kLadder[1], eight = 8 / kLadder[3];
  const double unit_s = (eight - two) / (units(3) - units(1));
  machine.profile.host.dispatch_hit_s = machine.profile.host.dispatch_staged_s = unit_s;
  machine.profile.host.round_trip_s = 0;
  machine.profile.host.pass_s = two - unit_s * units(1);
  std::printf("  fitted to 2 and 8 streams: %.0f ms a pass, %.4f ms a unit\n",
              1e3 * *machine.profile.host.pass_s, 1e3 * unit_s);
  PrintLadder("the same with these costs", Ladder(machine, trace->get(), smoke));
  PrintLadder("profile 2x7900xtx: grouped calls",
              Ladder(Machine("2x7900xtx", 2, kSlots), trace->get(), smoke));
}

int Main(int argc, char** argv) {
  CLI::App app{"Published figures of the reference machine beside simulated ones"};
  bool smoke = false;
  app.add_flag("--smoke", smoke, "Short");
  CLI11_PARSE(app, argc, argv);
  ReplayCostModel(smoke);
  ReplayPrefill(smoke);
  ReplayLadder(smoke);
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) { return berth::Main(argc, argv); }
