// How many requests a second counting plays: a trace in memory, one pool for all layers, everything
// admitted.
//
//   count_bench --trace T --policy lru,fifo --slots 333,832 --rounds 9
//   count_bench ... --against 'other {policy} {slots}'
//
// Rates are by processor time, the median of the rounds (smallest to largest). --against runs
// another program in turns with each round, so that both meet the same machine; the last number
// that it prints is taken as its rate, in millions a second. --policy curve counts LRU at every
// size.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "bench/yardstick.h"
#include "runtime/base/median.h"
#include "runtime/count/count.h"
#include "runtime/trace/memory_trace.h"

namespace berth {
namespace {

struct Flags {
  std::string trace;
  std::vector<std::string> policies = {
      "lru", "fifo", "sieve", "clock", "s3-fifo", "in-cache-lfu", "belady:admit=always"};
  std::vector<uint32_t> slots = {333, 832};
  uint32_t rounds = 5;
  std::string granularity = "access";
  std::string against;
  bool smoke = false;
};

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// One large layer count and as many units as a large model has, or a handful.
Result<std::unique_ptr<TraceFile>> MadeUp(uint32_t layers, uint32_t experts, uint32_t rows) {
  TraceData data;
  data.info.layers = layers;
  data.info.experts = experts;
  data.info.top_k = 10;
  data.info.rows = rows;
  data.info.request_rows = {rows};
  std::mt19937_64 random(1);
  for (size_t at = 0; at < size_t{rows} * layers * data.info.top_k; ++at) {
    data.experts.push_back(static_cast<int16_t>(random() % (random() % experts + 1)));
  }
  return MakeMemoryTrace(std::move(data));
}

struct Play {
  double rate = 0;  // millions a second
  uint64_t misses = 0;
};

Result<Play> PlayOnce(TraceFile* trace, const Flags& flags, const std::string& policy,
                      uint32_t slots) {
  CountWorkload workload;
  workload.granularity = flags.granularity == "step" ? Granularity::kStep : Granularity::kAccess;
  Play play;
  const double begin = ProcessorSeconds();
  uint64_t lookups = 0;
  if (policy == "curve") {
    BERTH_ASSIGN_OR_RETURN(const LruCurve curve, CountLruCurve(trace, workload));
    lookups = curve.lookups;
    if (slots < curve.pool_misses[0].size()) play.misses = curve.pool_misses[0][slots];
  } else {
    CountRequest request;
    request.policy = policy;
    request.pool_slots = {slots};
    request.always_admit = true;
    BERTH_ASSIGN_OR_RETURN(const std::vector<CountResult> results,
                           CountMisses(trace, workload, std::vector{request}));
    lookups = results[0].lookups;
    play.misses = results[0].misses;
  }
  play.rate = static_cast<double>(lookups) * 1e-6 / (ProcessorSeconds() - begin);
  return play;
}

std::string CommandFor(const Flags& flags, const std::string& policy, uint32_t slots) {
  return bench::Filled(flags.against, {{"{policy}", policy.substr(0, policy.find(':'))},
                                       {"{slots}", std::to_string(slots)}});
}

std::string Spread(const std::vector<double>& rates) {
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  char text[96];
  std::snprintf(text, sizeof(text), "%7.2f M/s (%.2f to %.2f)", Median(rates), *least, *most);
  return text;
}

Status Measure(TraceFile* trace, const Flags& flags, const std::string& policy, uint32_t slots) {
  std::vector<double> ours, theirs;
  uint64_t misses = 0;
  for (uint32_t round = 0; round < flags.rounds; ++round) {
    BERTH_ASSIGN_OR_RETURN(const Play play, PlayOnce(trace, flags, policy, slots));
    ours.push_back(play.rate);
    misses = play.misses;
    if (flags.against.empty()) continue;
    BERTH_ASSIGN_OR_RETURN(const double rate,
                           bench::LastNumberOf(CommandFor(flags, policy, slots)));
    theirs.push_back(rate);
  }
  std::printf("%-20s %6u slots %10llu misses %s", policy.c_str(), slots,
              static_cast<unsigned long long>(misses), Spread(ours).c_str());
  if (!theirs.empty()) {
    std::printf("  against %s: %.2f x", Spread(theirs).c_str(), Median(ours) / Median(theirs));
  }
  std::printf("\n");
  std::fflush(stdout);
  return Status();
}

Status Run(const Flags& flags) {
  Result<std::unique_ptr<TraceFile>> trace =
      !flags.trace.empty() ? LoadMemoryTrace(flags.trace)
                           : MadeUp(48, flags.smoke ? 16 : 512, flags.smoke ? 20 : 4000);
  BERTH_RETURN_IF_ERROR(trace.status());
  for (const std::string& policy : flags.policies) {
    for (const uint32_t slots : flags.slots) {
      BERTH_RETURN_IF_ERROR(Measure(trace->get(), flags, policy, slots));
    }
  }
  return Status();
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::Flags flags;
  CLI::App app("Requests a second of counting mode");
  app.add_option("--trace", flags.trace, "Trace to hold in memory; default: one made up");
  app.add_option("--policy", flags.policies, "Policies, or curve")->delimiter(';');
  app.add_option("--slots", flags.slots, "Sizes of the pool")->delimiter(',');
  app.add_option("--rounds", flags.rounds, "Rounds")->check(CLI::PositiveNumber);
  app.add_option("--granularity", flags.granularity, "access or step")
      ->check(CLI::IsMember({"access", "step"}));
  app.add_option("--against", flags.against, "Command to measure in turns; {policy}, {slots}");
  app.add_flag("--smoke", flags.smoke, "A trace of a moment, one round");
  CLI11_PARSE(app, argc, argv);
  if (flags.smoke) {
    flags.rounds = 1;
    flags.slots = {100};
    flags.policies.push_back("curve");
  }
  const berth::Status status = berth::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "count_bench: %s\n", status.ToString().c_str());
  return 1;
}
