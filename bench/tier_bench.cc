// tier_bench: how fast units come from a file into an arena, against the same reads alone; and how
// long a demanded unit takes with prefetch running. See --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/tier_rate.h"
#include "berth/runtime.h"
#include "runtime/base/median.h"
#include "runtime/catalog/catalog.h"
#include "runtime/pack/make_model.h"

namespace berth::bench {
namespace {

constexpr const char* kAbout =
    "Two measurements on a model file, moving units and computing nothing.\n"
    "1. rate: an arena of the least size and no host tier, so that every unit of every step is "
    "read\n"
    "   and copied; against random reads of such units into host memory at the same bytes in\n"
    "   flight (what read_bench measures), in turns. GB/s of units (10^9 bytes), alignment left "
    "out.\n"
    "2. demand: steps of one missing unit, one after the other, alone and with hints that keep "
    "the\n"
    "   prefetch queue full, in turns. Milliseconds from Enqueue to the end of the step.";

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Options : TierLoad {
  uint32_t rounds = 5;
  bool smoke = false;
  std::string json;
};

// Milliseconds of single missing units, with pauses; with `hints`, prefetch runs all the while.
Result<std::vector<double>> DemandTimes(const Options& options, const Catalog& catalog,
                                        bool hints) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime,
                         Runtime::Open(MovingRuntime(options, ArenaBytes(catalog, 0.5), 1)));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, runtime->NewSession());
  // Demand takes the first half of every layer's experts, hints the second, so that a demanded unit
  // is never one that a hint brought.
  const uint32_t half = catalog.experts() / 2;
  Walk demand(catalog.layers(), half), ahead(catalog.layers(), half);
  std::vector<int32_t> ids(catalog.top_k(), kNoExpert), hinted(32);
  std::vector<int32_t> used(catalog.top_k());
  uint32_t hinted_layer = 0;
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  for (uint64_t n = 0; Since(start) < options.seconds; ++n) {
    if (hints && n % 8 == 0) {
      // The last hints come true first (not timed): guesses that nobody uses are bounded.
      for (size_t at = 0; n > 0 && at < hinted.size(); at += used.size()) {
        std::fill(used.begin(), used.end(), kNoExpert);
        std::copy_n(&hinted[at], std::min(used.size(), hinted.size() - at), used.begin());
        Step use;
        use.layer = hinted_layer;
        use.rows = 1;
        use.ids = used.data();
        BERTH_ASSIGN_OR_RETURN(const Ticket ticket, session->Enqueue(use));
        BERTH_RETURN_IF_ERROR(session->Wait(ticket));
      }
      hinted_layer = ahead.Next(32, &hinted);
      for (int32_t& id : hinted) id += static_cast<int32_t>(half);
      BERTH_RETURN_IF_ERROR(session->Hint(hinted_layer, hinted, 0));
    }
    Step step;
    step.layer = demand.Next(1, &ids);
    step.rows = 1;
    step.ids = ids.data();
    const uint64_t misses = runtime->stats().counters.cards[0].misses;
    const Clock::time_point mark = Clock::now();
    BERTH_ASSIGN_OR_RETURN(const Ticket ticket, session->Enqueue(step));
    BERTH_RETURN_IF_ERROR(session->Wait(ticket));
    const double took = 1e3 * Since(mark);
    if (runtime->stats().counters.cards[0].misses > misses) times.push_back(took);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const CardCounters counters = runtime->stats().counters.cards[0];
  if (hints && counters.prefetch_admitted * 2 < times.size()) {
    return InternalError("few hints were admitted: the demand was measured alone");
  }
  return times;
}

Status Run(const Options& options) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Catalog> catalog, Catalog::Open(options.model));
  std::vector<double> ratios, slowdowns;
  nlohmann::json rounds = nlohmann::json::array();
  std::string rung;
  std::printf("%5s  %12s  %12s  %6s  %14s  %18s  %6s\n", "round", "reads (GB/s)", "arena (GB/s)",
              "ratio", "demand p50(ms)", "with prefetch (ms)", "ratio");
  for (uint32_t round = 0; round < options.rounds; ++round) {
    BERTH_ASSIGN_OR_RETURN(const double reads, ReadRate(options, *catalog));
    BERTH_ASSIGN_OR_RETURN(const double tier, TierRate(options, *catalog, &rung));
    BERTH_ASSIGN_OR_RETURN(const std::vector<double> alone, DemandTimes(options, *catalog, false));
    BERTH_ASSIGN_OR_RETURN(const std::vector<double> beside, DemandTimes(options, *catalog, true));
    ratios.push_back(tier / reads);
    slowdowns.push_back(Median(beside) / Median(alone));
    std::printf("%5u  %12.2f  %12.2f  %6.3f  %14.2f  %18.2f  %6.2f\n", round, reads, tier,
                ratios.back(), Median(alone), Median(beside), slowdowns.back());
    std::fflush(stdout);
    rounds.push_back({{"reads_gb_per_s", reads},
                      {"arena_gb_per_s", tier},
                      {"demand_p50_ms", Median(alone)},
                      {"demand_with_prefetch_p50_ms", Median(beside)}});
  }
  std::printf("%s; median ratio of arena to reads %.3f, of demand with prefetch to alone %.2f\n",
              rung.c_str(), Median(ratios), Median(slowdowns));
  if (!options.json.empty()) {
    std::ofstream(options.json) << nlohmann::json{{"rounds", rounds},
                                                  {"arena_to_reads_median", Median(ratios)},
                                                  {"demand_slowdown_median", Median(slowdowns)}}
                                       .dump(2)
                                << "\n";
  }
  return Status();
}

// A model of its own, gone afterwards.
Result<std::string> MakeSmokeModel() {
  models::MakeModelOptions model;
  model.output = std::filesystem::temp_directory_path() /
                 ("berth-tier-bench-" + std::to_string(::getpid()) + ".gguf");
  model.layers = 2;
  model.experts = 64;
  model.top_k = 2;
  model.hidden = 256;
  model.ffn = 256;
  model.replace = true;
  BERTH_ASSIGN_OR_RETURN(const models::MakeModelReport report, models::MakeModel(model, nullptr));
  return report.paths.front();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout, "tier_bench");
  app.add_option("MODEL", options.model, "A GGUF of units of real size (berth make-model)");
  app.add_option("--device", options.device, "The card that units go to")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Of each measurement")->capture_default_str();
  app.add_option("--rounds", options.rounds)->capture_default_str();
  app.add_option("--in-flight", options.in_flight, "Bytes of reads under way at once")
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the rounds to this file");
  app.add_flag("--smoke", options.smoke, "A small model and a moment of each, to see it work");
  CLI11_PARSE(app, argc, argv);
  if (!options.smoke && options.model.empty()) {
    std::fprintf(stderr, "tier_bench: give a MODEL, or --smoke\n");
    return 2;
  }
  if (options.smoke) {
    options.seconds = 0.2;
    options.rounds = 1;
    Result<std::string> made = MakeSmokeModel();
    if (!made.ok()) {
      std::fprintf(stderr, "tier_bench: %s\n", std::string(made.status().message()).c_str());
      return 1;
    }
    options.model = *made;
  }
  const Status status = Run(options);
  if (options.smoke) std::filesystem::remove(options.model);
  if (status.ok()) return 0;
  std::fprintf(stderr, "tier_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
