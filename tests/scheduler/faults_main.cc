// scheduler_faults: the fault driver over many seeds, or one.
//
//   scheduler_faults --seeds 1-10000 [--jobs 2]
//   scheduler_faults --seed 4711
// Exit code 0: every promise was kept. 1: one was broken; the seed, what led to it and the command
// that replays it are printed. 2: the request was wrong.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/scheduler/seed_worker.h"

namespace berth::scheduler {
namespace {

const char* program;

// "4711" or "1-10000".
bool ParseSeeds(const char* text, SeedRange* range) {
  char* end = nullptr;
  range->first = range->last = std::strtoull(text, &end, 10);
  if (end == text) return false;
  if (*end == '-') {
    const char* last = end + 1;
    range->last = std::strtoull(last, &end, 10);
    if (end == last) return false;
  }
  return *end == '\0' && range->first <= range->last && range->last < UINT64_MAX / 2;
}

void TellFailure(uint64_t seed) {
  std::fprintf(stderr, "seed %llu broke a promise: ", static_cast<unsigned long long>(seed));
  DescribeLastSeed(stderr);
}

void Print(const SeedTotals& t, double seconds) {
  const auto n = [](uint64_t v) { return static_cast<unsigned long long>(v); };
  std::printf(
      "%llu seeds in %.1f s: %llu steps, %llu failed; %llu seeds closed in the middle, "
      "%llu played in two orders\n",
      n(t.seeds), seconds, n(t.steps), n(t.failed_steps), n(t.closed), n(t.compared));
  std::printf("the host computed %llu missed units, %llu of them were loaded behind their steps\n",
              n(t.host_computed), n(t.behind_loads));
  std::printf(
      "flipped bits: %llu found by checksums, %llu steps carried one where there are none\n",
      n(t.flips_found), n(t.carrying_steps));
  std::printf("faults:");
  for (size_t f = 0; f < kFaultKinds; ++f) {
    const std::string_view name = FaultName(static_cast<Fault>(f));
    std::printf(" %.*s %llu%s", static_cast<int>(name.size()), name.data(), n(t.faults[f]),
                f + 1 < kFaultKinds ? "," : "\n");
  }
}

void Add(const SeedTotals& from, SeedTotals* to) {
  to->seeds += from.seeds;
  to->compared += from.compared;
  to->closed += from.closed;
  to->steps += from.steps;
  to->failed_steps += from.failed_steps;
  to->host_computed += from.host_computed;
  to->behind_loads += from.behind_loads;
  to->flips_found += from.flips_found;
  to->carrying_steps += from.carrying_steps;
  for (size_t f = 0; f < kFaultKinds; ++f) to->faults[f] += from.faults[f];
}

int Run(const SeedRange& range, uint64_t jobs) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<SeedWorker>> workers;
  for (uint64_t j = 0; j < jobs && range.first + j <= range.last; ++j) {
    workers.push_back(
        std::make_unique<SeedWorker>(SeedRange{range.first + j, range.last, jobs}, TellFailure));
  }
  SeedTotals totals;
  bool kept = true;
  for (const auto& worker : workers) {
    const SeedWorker::Verdict verdict = worker->Join();
    Add(verdict.totals, &totals);
    if (verdict.kept) continue;
    kept = false;
    std::fprintf(stderr, "seed %llu: %s\nreplay: %s --seed %llu\n",
                 static_cast<unsigned long long>(verdict.seed), verdict.error.c_str(), program,
                 static_cast<unsigned long long>(verdict.seed));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  Print(totals, took.count());
  return kept ? 0 : 1;
}

int Main(int argc, char** argv) {
  program = argv[0];
  SeedRange range;
  uint64_t jobs = 1;
  bool given = false, good = argc % 2 == 1;
  for (int i = 1; good && i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seed") == 0 || std::strcmp(argv[i], "--seeds") == 0) {
      good = ParseSeeds(argv[i + 1], &range);
      given = true;
    } else if (std::strcmp(argv[i], "--jobs") == 0) {
      jobs = std::strtoull(argv[i + 1], nullptr, 10);
      good = jobs >= 1 && jobs <= 256;
    } else {
      good = false;
    }
  }
  if (!good || !given) {
    std::fprintf(stderr, "usage: %s --seed N | --seeds A-B [--jobs N]\n", program);
    return 2;
  }
  return Run(range, jobs);
}

}  // namespace
}  // namespace berth::scheduler

int main(int argc, char** argv) { return berth::scheduler::Main(argc, argv); }
