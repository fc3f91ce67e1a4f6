// What a miss costs where it is staged, computed on the host, or split between both, on a machine's
// profile: by residency, by how much of the model RAM keeps, and by streams. Fails where the split
// is slower than the better of the other two by more than 2 %.
//
//   miss_study TRACE [--profile NAME] [--unit-bytes N] [--passes N] [--residency SHARE]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/config/machine_profile.h"
#include "runtime/simulate/simulate.h"
#include "runtime/trace/trace.h"

namespace berth {
namespace {

constexpr double kMostSlower = 1.02;

struct Study {
  std::string trace;
  std::string profile = "2x7900xtx";
  uint64_t unit_bytes = 2329600;
  uint64_t passes = 1000;
  double residency = 0.25;
};

class Bench {
 public:
  explicit Bench(const Study& study) : study_(study) {}

  Status Run() {
    BERTH_ASSIGN_OR_RETURN(trace_, TraceFile::Open(study_.trace));
    BERTH_ASSIGN_OR_RETURN(profile_, FindMachineProfile(study_.profile));
    std::printf(
        "%s on %s, units of %llu bytes, %.0f %% resident, %llu passes at most\n"
        "  in RAM  streams   miss  ms/pass  of that the model  hit rate (%%)  computed on the "
        "host (%%)  loaded behind  not  MB/pass over links  bound by\n",
        study_.trace.c_str(), profile_.name.c_str(),
        static_cast<unsigned long long>(study_.unit_bytes), 100 * study_.residency,
        static_cast<unsigned long long>(study_.passes));
    for (const double ram : {1.0, 0.5, 0.0}) {
      for (const uint32_t streams : {1u, 4u}) BERTH_RETURN_IF_ERROR(Rows(ram, streams));
    }
    return worst_ <= kMostSlower
               ? Status()
               : InternalError("--miss auto is more than 2 % slower than the better of the others");
  }

 private:
  SimulateOptions Options(double ram, uint32_t streams) const {
    const TraceInfo& info = trace_->info();
    const uint64_t units = static_cast<uint64_t>(info.layers) * info.experts;
    const size_t cards = std::max<size_t>(1, profile_.cards.size());
    SimulateOptions options;
    options.profile = profile_;
    options.stated.unit_bytes = {study_.unit_bytes};
    RunOptions& run = options.run;
    run.trace = study_.trace;
    run.passes.streams = streams;
    run.passes.max_passes = study_.passes;
    run.runtime.cards.clear();
    for (size_t c = 0; c < cards; ++c) {
      CardConfig card;
      if (!profile_.cards.empty()) card.device = profile_.cards[c].card;
      const auto slots =
          static_cast<uint64_t>(study_.residency * static_cast<double>(units / cards));
      card.arena_bytes = slots * ((study_.unit_bytes + 255) / 256 * 256);
      run.runtime.cards.push_back(card);
    }
    // A slot of RAM has room for the rounding of direct reads.
    run.runtime.host_tier_bytes =
        static_cast<uint64_t>(ram * static_cast<double>(units * (study_.unit_bytes + 8192)));
    if (profile_.storage.bytes_in_flight > 0) {
      run.runtime.read_bytes_in_flight = profile_.storage.bytes_in_flight;
    }
    return options;
  }

  Status Rows(double ram, uint32_t streams) {
    double stage = 0, host = 0, split = 0;
    SimulateOptions options = Options(ram, streams);
    struct Mode {
      MissChoice miss;
      const char* name;
      double* ms;
    };
    for (const Mode& mode :
         {Mode{MissChoice::kStage, "stage", &stage}, Mode{MissChoice::kHost, "host", &host},
          Mode{MissChoice::kAuto, "auto", &split}}) {
      options.run.runtime.miss = mode.miss;
      BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(options, trace_.get()));
      const auto passes = static_cast<double>(report.stats.counters.passes);
      *mode.ms = 1e3 * report.wall_s / passes;
      Row(ram, streams, mode.name, *mode.ms, report);
    }
    worst_ = std::max(worst_, split / std::min(stage, host));
    return Status();
  }

  void Row(double ram, uint32_t streams, const char* name, double ms, const RunReport& report) {
    uint64_t hits = 0, requests = 0, misses = 0, on_host = 0, behind = 0, dropped = 0;
    for (const CardCounters& card : report.stats.counters.cards) {
      hits += card.hits;
      requests += card.requests;
      misses += card.misses;
      on_host += card.host_computed;
      behind += card.behind_loads;
      dropped += card.behind_dropped;
    }
    const auto passes = static_cast<double>(report.stats.counters.passes);
    const auto share = [](uint64_t part, uint64_t all) {
      return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
    };
    std::printf("  %5.0f%%  %7u  %5s  %7.2f  %17.2f  %12.1f  %24.1f  %13llu  %llu  %18.1f  %s\n",
                100 * ram, streams, name, ms, 1e3 * report.inputs_s / passes, share(hits, requests),
                share(on_host, misses), static_cast<unsigned long long>(behind),
                static_cast<unsigned long long>(dropped),
                static_cast<double>(report.stats.moved.h2d) / passes / 1e6,
                report.bound_by.c_str());
    std::fflush(stdout);
  }

  const Study study_;
  std::unique_ptr<TraceFile> trace_;
  MachineProfile profile_;
  double worst_ = 0;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::Study study;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag.rfind("--", 0) != 0) {
      study.trace = flag;
      continue;
    }
    if (++i == argc) return 2;
    if (flag == "--profile") study.profile = argv[i];
    if (flag == "--unit-bytes") study.unit_bytes = std::strtoull(argv[i], nullptr, 10);
    if (flag == "--passes") study.passes = std::strtoull(argv[i], nullptr, 10);
    if (flag == "--residency") study.residency = std::strtod(argv[i], nullptr);
  }
  if (study.trace.empty() || study.unit_bytes == 0) {
    std::fprintf(stderr,
                 "miss_study TRACE [--profile NAME] [--unit-bytes N] [--passes N] "
                 "[--residency SHARE]\n");
    return 2;
  }
  const berth::Status status = berth::Bench(study).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "miss_study: %s\n", status.ToString().c_str());
  return 1;
}
