// What a miss costs where it is staged, computed on the host, or split between both, on a machine's
// profile: by residency, by how much of the model RAM keeps, and by streams. Fails where the split
// is slower than the better of the other two by more than 2 %.
//
//   miss_study TRACE [--profile NAME] [--unit-bytes N] [--passes N] [--residency SHARE]
#include <algorithm>
#include <cstdio>

#include "bench/study.h"

namespace berth {
namespace {

constexpr double kMostSlower = 1.02;

class Bench {
 public:
  explicit Bench(const bench::Study& study) : study_(study), flags_(study.flags) {}

  Status Run() {
    std::printf(
        "%s on %s, units of %llu bytes, %.0f %% resident, %llu passes at most\n"
        "  in RAM  streams   miss  ms/pass  of that the model  hit rate (%%)  computed on the "
        "host (%%)  loaded behind  not  MB/pass over links  bound by\n",
        flags_.trace.c_str(), study_.profile.name.c_str(),
        static_cast<unsigned long long>(flags_.unit_bytes), 100 * flags_.share,
        static_cast<unsigned long long>(flags_.passes));
    for (const double ram : {1.0, 0.5, 0.0}) {
      for (const uint32_t streams : {1u, 4u}) BERTH_RETURN_IF_ERROR(Rows(ram, streams));
    }
    return worst_ <= kMostSlower
               ? Status()
               : InternalError("--miss auto is more than 2 % slower than the better of the others");
  }

 private:
  Status Rows(double ram, uint32_t streams) {
    double stage = 0, host = 0, split = 0;
    SimulateOptions options = study_.Options(flags_.share, ram);
    options.run.passes.streams = streams;
    struct Mode {
      MissChoice miss;
      const char* name;
      double* ms;
    };
    for (const Mode& mode :
         {Mode{MissChoice::kStage, "stage", &stage}, Mode{MissChoice::kHost, "host", &host},
          Mode{MissChoice::kAuto, "auto", &split}}) {
      options.run.runtime.miss = mode.miss;
      BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(options, study_.trace.get()));
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

  const bench::Study& study_;
  const bench::StudyFlags& flags_;
  double worst_ = 0;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::bench::StudyFlags flags;
  flags.passes = 1000;
  flags.share = 0.25;
  return berth::bench::RunStudy(
      argc, argv, flags, "What misses cost: staged, computed on the host, or split", "--residency",
      "Share of the units that the arenas hold",
      [](const berth::bench::Study& study) { return berth::Bench(study).Run(); });
}
