// What prefetch from early routers brings on a machine's profile, by budget, layers ahead and
// residency; and whether the budget chosen on the first half of a trace's requests serves the
// second half.
//
//   prefetch_study TRACE [--profile NAME] [--unit-bytes N] [--passes N] [--host-tier SHARE]
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "bench/study.h"
#include "runtime/run/prefetch_choice.h"

namespace berth {
namespace {

class Bench {
 public:
  explicit Bench(const bench::Study& study) : study_(study), flags_(study.flags) {}

  Status Run() {
    const TraceInfo& info = study_.trace->info();
    const auto requests = static_cast<uint32_t>(info.request_rows.size());
    first_.resize(requests / 2);
    std::iota(first_.begin(), first_.end(), 0u);
    second_.resize(requests - requests / 2);
    std::iota(second_.begin(), second_.end(), requests / 2);
    std::printf(
        "%s on %s, units of %llu bytes, RAM keeps %.0f %% of them; the second half's first "
        "%llu passes\n",
        flags_.trace.c_str(), study_.profile.name.c_str(),
        static_cast<unsigned long long>(flags_.unit_bytes), 100 * flags_.share,
        static_cast<unsigned long long>(flags_.passes));
    for (const double share : {0.25, 0.5, 0.75}) BERTH_RETURN_IF_ERROR(Table(share));
    return Status();
  }

 private:
  SimulateOptions Options(double share, const std::vector<uint32_t>& requests) const {
    SimulateOptions options = study_.Options(share, flags_.share);
    options.run.passes.requests = requests;
    return options;
  }

  // Nothing to wait for: every unit is there before the first step.
  Result<double> ResidentMs() {
    SimulateOptions options = Options(1, second_);
    const TraceInfo& info = study_.trace->info();
    options.run.runtime.heat.assign(static_cast<size_t>(info.layers) * info.experts, 1);
    options.run.runtime.preload = true;
    BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(options, study_.trace.get()));
    return MsOf(report);
  }
  static double MsOf(const RunReport& report) {
    return 1e3 * report.wall_s / static_cast<double>(report.stats.counters.passes);
  }

  Status Table(double share) {
    BERTH_ASSIGN_OR_RETURN(const double resident, ResidentMs());
    std::printf(
        "\n%.0f %% resident\n  ahead  units/step   ms/pass  miss time hidden (%%)  "
        "hit rate (%%)  used  wasted  MB/pass read ahead  MB/pass wasted\n",
        100 * share);
    double none = 0;
    for (const uint32_t ahead : {1u, 2u}) {
      for (const uint32_t units : {0u, 1u, 2u, 4u, 8u}) {
        if (units == 0 && ahead == 2) continue;
        SimulateOptions options = Options(share, second_);
        options.run.prefetch = {units * flags_.unit_bytes, ahead};
        BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(options, study_.trace.get()));
        if (units == 0) none = MsOf(report);
        Row(ahead, units, none, resident, report);
      }
      BERTH_RETURN_IF_ERROR(Chosen(share, ahead, none));
    }
    return Status();
  }

  void Row(uint32_t ahead, uint32_t units, double none, double resident, const RunReport& report) {
    uint64_t hits = 0, requests = 0, admitted = 0, used = 0, wasted = 0, wasted_bytes = 0;
    for (const CardCounters& card : report.stats.counters.cards) {
      hits += card.hits;
      requests += card.requests;
      admitted += card.prefetch_admitted;
      used += card.prefetch_used;
      wasted += card.prefetch_wasted;
      wasted_bytes += card.bytes_prefetch_wasted;
    }
    const auto passes = static_cast<double>(report.stats.counters.passes);
    const auto of_admitted = [&](uint64_t n) {
      return admitted == 0 ? 0.0 : 100.0 * static_cast<double>(n) / static_cast<double>(admitted);
    };
    std::printf("  %5u  %10u  %8.3f  %20.1f  %12.2f  %3.0f%%  %5.0f%%  %18.2f  %14.2f\n", ahead,
                units, MsOf(report), 100 * (none - MsOf(report)) / (none - resident),
                100.0 * static_cast<double>(hits) / static_cast<double>(requests),
                of_admitted(used), of_admitted(wasted),
                static_cast<double>(admitted * flags_.unit_bytes) / passes / 1e6,
                static_cast<double>(wasted_bytes) / passes / 1e6);
    std::fflush(stdout);
  }

  Status Chosen(double share, uint32_t ahead, double none) {
    const TraceInfo& info = study_.trace->info();
    SimulateOptions options = Options(share, first_);
    const std::vector<uint64_t> unit_bytes(info.layers, flags_.unit_bytes);
    BERTH_ASSIGN_OR_RETURN(
        const PrefetchChoice choice,
        ChoosePrefetch(unit_bytes, MostPrefetchUnits(info.experts, info.top_k, 1),
                       [&](uint64_t bytes) -> Result<double> {
                         options.run.prefetch = {bytes, ahead};
                         BERTH_ASSIGN_OR_RETURN(const RunReport report,
                                                Simulate(options, study_.trace.get()));
                         return report.wall_s;
                       }));
    options = Options(share, second_);
    options.run.prefetch = {choice.step_bytes, ahead};
    BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(options, study_.trace.get()));
    const double slower = 100 * (MsOf(report) / none - 1);
    std::printf("  chosen on the first half, %u ahead: %llu units/step, %+.2f %% against none%s\n",
                ahead, static_cast<unsigned long long>(choice.step_bytes / flags_.unit_bytes),
                slower, slower > 1 ? ": MORE THAN 1 % SLOWER" : "");
    return slower > 1 ? InternalError("the chosen budget is more than 1 % slower than none")
                      : Status();
  }

  const bench::Study& study_;
  const bench::StudyFlags& flags_;
  std::vector<uint32_t> first_, second_;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::bench::StudyFlags flags;
  flags.passes = 4000;  // of each half
  return berth::bench::RunStudy(
      argc, argv, flags, "What prefetch from early routers brings and wastes", "--host-tier",
      "Share of the units that RAM keeps",
      [](const berth::bench::Study& study) { return berth::Bench(study).Run(); });
}
