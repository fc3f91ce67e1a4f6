// Whatever a machine is fast or slow at, splitting misses by cost is no slower than staging all or
// computing all on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/simulate/simulate.h"

namespace berth {
namespace {

constexpr uint64_t kUnitBytes = 2329600;

struct Speeds {
  double link, host, storage;  // bytes a second
  double rest_s;               // of the model, a pass
};

double Milliseconds(const Speeds& speeds, MissChoice miss, uint32_t streams, double ram) {
  SimulateOptions options;
  MachineProfile& profile = options.profile;
  profile.name = "made up";
  profile.storage.bytes_per_s = speeds.storage;
  profile.links = {{"card:0", speeds.link}};
  CardProfile card;
  card.card = "card:0";
  card.unit_bytes = kUnitBytes;
  card.kernels = {{1, 10, 40}, {1}, {14e-6, 45e-6, 146e-6}};
  profile.cards = {card};
  profile.host.round_trip_s = 10e-6;
  profile.host.pass_s = speeds.rest_s;
  profile.host.compute = {{1, 8, 32}, {0}, {speeds.host, 0.8 * speeds.host, 0.4 * speeds.host}};
  RunOptions& run = options.run;
  run.trace = std::string(BERTH_TEST_DATA) + "/moe-128x8-demo.trace";
  run.passes.streams = streams;
  run.passes.max_passes = 60;
  run.runtime.cards[0].device = "card:0";
  run.runtime.cards[0].arena_bytes = 400 * kUnitBytes;  // of 1,024
  run.runtime.host_tier_bytes = static_cast<uint64_t>(ram * 1024 * (kUnitBytes + 8192));
  run.runtime.miss = miss;
  options.stated.unit_bytes = {kUnitBytes};
  const Result<RunReport> report = Simulate(options);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  if (!report.ok()) return 0;
  EXPECT_NEAR(report->stats.time.total_s(), report->wall_s, 1e-9);
  return 1e3 * report->wall_s / static_cast<double>(report->stats.counters.passes);
}

TEST(MissModesSimulated, AutoIsNoSlowerThanTheBetterOfBoth) {
  double worst = 0;
  for (const Speeds& speeds :
       {Speeds{26e9, 30e9, 6e9, 0}, Speeds{26e9, 30e9, 6e9, 10e-3}, Speeds{26e9, 8e9, 6e9, 0},
        Speeds{3e9, 20e9, 6e9, 0}, Speeds{3e9, 20e9, 6e9, 10e-3}, Speeds{55e9, 35e9, 2e9, 5e-3},
        Speeds{12e9, 60e9, 14e9, 2e-3}, Speeds{55e9, 2e9, 14e9, 1e-3}}) {
    for (const uint32_t streams : {1u, 4u}) {
      for (const double ram : {1.05, 0.5, 0.0}) {
        const double stage = Milliseconds(speeds, MissChoice::kStage, streams, ram);
        const double host = Milliseconds(speeds, MissChoice::kHost, streams, ram);
        const double split = Milliseconds(speeds, MissChoice::kAuto, streams, ram);
        const double ratio = split / std::min(stage, host);
        worst = std::max(worst, ratio);
        EXPECT_LT(ratio, 1.02) << "link " << speeds.link << ", host " << speeds.host << ", rest "
                               << speeds.rest_s << ", " << streams << " streams, RAM " << ram
                               << ": stage " << stage << ", host " << host << ", auto " << split;
      }
    }
  }
  std::printf("auto takes at most %.4f of the better of stage and host\n", worst);
}

// Both sides of the machine are used: with a link and a host alike it takes well less than either.
TEST(MissModesSimulated, AutoUsesBoth) {
  const Speeds alike = {26e9, 26e9, 14e9, 0};
  const double stage = Milliseconds(alike, MissChoice::kStage, 4, 1.05);
  const double host = Milliseconds(alike, MissChoice::kHost, 4, 1.05);
  const double split = Milliseconds(alike, MissChoice::kAuto, 4, 1.05);
  EXPECT_LT(split, 0.9 * std::min(stage, host));
}

}  // namespace
}  // namespace berth
