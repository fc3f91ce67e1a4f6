// How fast the timed simulator is: look-ups (distinct units of steps) a second of CPU time on one
// core, everything included, input in memory.
//
//   simulate_bench [--trace FILE] [--rounds N] [--smoke]
//
// Cases run in turn, round after round, and each has the median of its rounds. FILE is a trace of
// requests to add to the synthetic ones, at 20 % and 50 % residency.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/base/median.h"
#include "runtime/simulate/simulate.h"
#include "runtime/synth/synth.h"
#include "runtime/trace/memory_trace.h"

namespace berth {
namespace {

constexpr uint64_t kUnitBytes = 2'329'600;

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Case {
  std::string name;
  TraceFile* trace = nullptr;
  SimulateOptions options;
  std::vector<double> seconds;
  RunReport report;
};

Case MakeCase(const std::string& name, TraceFile* trace, double residency,
              const std::string& policy) {
  Case made;
  made.name = name + ", " + std::to_string(static_cast<int>(100 * residency)) + " %, " + policy;
  made.trace = trace;
  const TraceInfo& info = trace->info();
  const Result<MachineProfile> profile = FindMachineProfile("4090-desktop");
  BERTH_CHECK(profile.ok());
  made.options.profile = *profile;
  made.options.stated.unit_bytes = {kUnitBytes};
  RuntimeOptions& runtime = made.options.run.runtime;
  runtime.policy = policy;
  runtime.slots = SlotSharingChoice::kShared;
  runtime.cards[0].device = "cuda:0";
  const auto slots = static_cast<uint64_t>(residency * info.layers * info.experts);
  runtime.cards[0].arena_bytes = slots * kUnitBytes;
  return made;
}

void Play(Case* played) {
  const double before = CpuSeconds();
  Result<RunReport> report = Simulate(played->options, played->trace);
  played->seconds.push_back(CpuSeconds() - before);
  if (!report.ok()) std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
  BERTH_CHECK(report.ok());
  played->report = std::move(*report);
}

void Print(const Case& played) {
  const Counters& c = played.report.stats.counters;
  const double seconds = Median(played.seconds);
  const double lookups = static_cast<double>(c.distinct_units);
  std::printf("%-44s %12s %8.1f %10.2f %12.2f\n", played.name.c_str(),
              FormatCount(c.distinct_units).c_str(),
              100 * static_cast<double>(c.cards[0].misses) / lookups, seconds,
              lookups / seconds * 1e-6);
}

int Main(int argc, char** argv) {
  CLI::App app{"Look-ups a second of the timed simulator"};
  std::string file;
  uint32_t rounds = 3;
  bool smoke = false;
  app.add_option("--trace", file, "A trace to play besides the synthetic ones");
  app.add_option("--rounds", rounds, "Rounds, of which each case has its median")
      ->check(CLI::PositiveNumber);
  app.add_flag("--smoke", smoke, "Small and once");
  CLI11_PARSE(app, argc, argv);

  SynthOptions single;
  single.passes = smoke ? 60 : 1500;
  single.requests = 6;
  single.pass_rows = 1;
  SynthOptions wide = single;
  wide.passes = smoke ? 30 : 600;
  wide.pass_rows = 5;
  std::vector<std::unique_ptr<TraceFile>> traces;
  for (const SynthOptions& options : {single, wide}) {
    Result<std::unique_ptr<TraceFile>> trace = MakeSynthTrace(options);
    BERTH_CHECK_MSG(trace.ok(), trace.status().ToString().c_str());
    traces.push_back(std::move(*trace));
  }
  std::vector<Case> cases;
  for (const char* policy : {"lru", "lfu"}) {
    cases.push_back(MakeCase("synthetic 48 x 512 top-10, 1 row", traces[0].get(), 0.5, policy));
    cases.push_back(MakeCase("synthetic 48 x 512 top-10, 5 rows", traces[1].get(), 0.5, policy));
  }
  if (!file.empty()) {
    Result<std::unique_ptr<TraceFile>> trace = LoadMemoryTrace(file);
    BERTH_CHECK_MSG(trace.ok(), trace.status().ToString().c_str());
    traces.push_back(std::move(*trace));
    for (const char* policy : {"lru", "lfu"}) {
      for (const double residency : {0.2, 0.5}) {
        cases.push_back(MakeCase("file", traces.back().get(), residency, policy));
      }
    }
  }
  for (uint32_t round = 0; round < (smoke ? 1 : rounds); ++round) {
    for (Case& each : cases) Play(&each);
  }
  std::printf("%-44s %12s %8s %10s %12s\n", "case", "look-ups", "miss (%)", "CPU (s)",
              "M look-ups/s");
  for (const Case& each : cases) Print(each);
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) { return berth::Main(argc, argv); }
