// How often each policy misses on requests that it has not seen, and how far the first policy of
// the list is from the best of the others.
//
//   policy_study traces/*.safetensors
//   policy_study --policy 'hazard;hazard:bypass=0;lfu' --folds 4 traces/a.safetensors
//   policy_study --limit 0.5 traces/*.safetensors       exits with 1 where it is farther than that
//
// For every trace, one stream and eight, one pool shared by all layers and a quota for each layer,
// and each size: requests are left out in turns; the others are played first, what is resident and
// learned is carried over, and only the left-out ones are counted. With eight streams as many folds
// are made as leave eight requests out. A trace of fewer than 16 requests is played whole, one
// stream, all of it counted. Pools below 3 x top-k slots are left out, as the scheduler refuses
// them; where a shared pool is smaller than one token's units, policies that take quotas there
// (scheduler/core.h, Sharing::kAuto) are counted with quotas.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "runtime/count/count.h"
#include "runtime/trace/memory_trace.h"

namespace berth {
namespace {

constexpr size_t kFewestToLeaveOut = 16;

struct Flags {
  std::vector<std::string> traces;
  std::vector<std::string> policies = {"hazard", "lru",          "lfu",   "heat",  "arc",
                                       "slru",   "s3-fifo",      "2q",    "sieve", "clock",
                                       "fifo",   "in-cache-lfu", "random"};
  std::vector<uint32_t> sizes = {12, 25, 50, 75};
  std::vector<uint32_t> streams = {1, 8};
  std::vector<std::string> scopes = {"shared", "layer"};
  uint32_t folds = 8;
  uint64_t warm_rows = 0;
  std::optional<double> limit;  // points
  bool bound = false;
  bool smoke = false;
};

struct Fold {
  std::vector<uint32_t> requests;  // those to learn from, then those left out
  size_t learned = 0;              // of the former
};

struct Cell {
  std::string name;
  bool shared;
  std::vector<uint32_t> shared_slots, layer_slots;  // pool_slots of either kind
  bool below_cycle;
  std::vector<uint64_t> misses;  // of each policy
  std::vector<uint64_t> lookups;
};

std::vector<Fold> FoldsOf(const TraceInfo& info, uint32_t streams, const Flags& flags) {
  const auto requests = static_cast<uint32_t>(info.request_rows.size());
  std::vector<Fold> folds;
  if (requests < kFewestToLeaveOut) {
    folds.emplace_back();
    for (uint32_t at = 0; at < requests; ++at) folds[0].requests.push_back(at);
    return folds;
  }
  const uint32_t count = std::min(flags.folds, requests / streams);
  for (uint32_t fold = 0; fold < count; ++fold) {
    std::vector<uint32_t> learn, leave;
    uint64_t rows = 0;
    for (uint32_t at = 0; at < requests; ++at) {
      (at % count == fold ? leave : learn).push_back(at);
      if (at % count != fold) rows += info.request_rows[at];
    }
    Fold made;
    // Every n-th of them, so that what is played is of all kinds.
    const uint64_t limit = flags.warm_rows * streams;
    const uint64_t stride = limit == 0 || rows <= limit ? 1 : (rows + limit - 1) / limit;
    for (size_t at = 0; at < learn.size(); at += stride) made.requests.push_back(learn[at]);
    made.learned = made.requests.size();
    made.requests.insert(made.requests.end(), leave.begin(), leave.end());
    folds.push_back(std::move(made));
  }
  return folds;
}

std::vector<Cell> CellsOf(const std::string& trace, const TraceInfo& info, uint32_t streams,
                          const Flags& flags) {
  std::vector<Cell> cells;
  for (const std::string& scope : flags.scopes) {
    for (const uint32_t percent : flags.sizes) {
      const uint64_t slots = uint64_t{info.layers} * info.experts * percent / 100;
      const bool shared = scope == "shared";
      if ((shared ? slots : slots / info.layers) < uint64_t{3} * info.top_k) continue;
      Cell cell;
      cell.name = trace + " " + scope + " x" + std::to_string(streams) + " " +
                  std::to_string(percent) + "%";
      cell.shared = shared;
      cell.shared_slots = {static_cast<uint32_t>(slots)};
      for (uint32_t layer = 0; layer < info.layers; ++layer) {
        cell.layer_slots.push_back(static_cast<uint32_t>(slots / info.layers) +
                                   (layer < slots % info.layers ? 1 : 0));
      }
      cell.below_cycle = slots < uint64_t{info.layers} * info.top_k;
      cell.misses.resize(flags.policies.size());
      cell.lookups.resize(flags.policies.size());
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

bool Quotas(const Cell& cell, const std::string& policy) {
  if (!cell.shared) return true;
  return cell.below_cycle && !policy.starts_with("lfu") && !policy.starts_with("hazard") &&
         !policy.starts_with("belady");
}

// One reading for the shared pools of all cells, one for the quotas.
Status PlayFold(TraceFile* trace, const Fold& fold, uint32_t streams, const Flags& flags,
                std::vector<Cell>* cells) {
  CountWorkload workload;
  workload.passes.streams = streams;
  workload.passes.requests = fold.requests;
  if (fold.learned > 0) {
    PassOptions learned = workload.passes;
    learned.requests.resize(fold.learned);
    BERTH_ASSIGN_OR_RETURN(const PassSource source, PassSource::Create(trace->info(), learned));
    workload.warmup_passes = source.passes();
  }
  for (const bool quotas : {false, true}) {
    workload.pool_of_layer.clear();
    for (uint32_t layer = 0; layer < trace->info().layers; ++layer) {
      workload.pool_of_layer.push_back(quotas ? layer : 0);
    }
    std::vector<CountRequest> requests;
    std::vector<std::pair<Cell*, size_t>> owners;
    for (Cell& cell : *cells) {
      for (size_t at = 0; at < flags.policies.size(); ++at) {
        if (Quotas(cell, flags.policies[at]) != quotas) continue;
        CountRequest request;
        request.policy = flags.policies[at];
        request.pool_slots = quotas ? cell.layer_slots : cell.shared_slots;
        requests.push_back(std::move(request));
        owners.emplace_back(&cell, at);
      }
    }
    if (requests.empty()) continue;
    BERTH_ASSIGN_OR_RETURN(const std::vector<CountResult> results,
                           CountMisses(trace, workload, requests));
    for (size_t at = 0; at < results.size(); ++at) {
      owners[at].first->misses[owners[at].second] += results[at].misses;
      owners[at].first->lookups[owners[at].second] += results[at].lookups;
    }
  }
  return Status();
}

// Sums over cells, of miss rates in percent.
struct Averages {
  explicit Averages(size_t policies) : rates(policies, 0) {}
  std::vector<double> rates;
  double worst = -100;
  std::string worst_cell;
  size_t cells = 0;
};

int WidthOf(const std::string& policy) { return std::max(6, static_cast<int>(policy.size())); }

void PrintCell(const Cell& cell, const Flags& flags, Averages* averages) {
  std::printf("%-44s", cell.name.c_str());
  double best = 200;
  size_t best_at = 0;
  std::vector<double> rates;
  for (size_t at = 0; at < flags.policies.size(); ++at) {
    const double rate = 100.0 * static_cast<double>(cell.misses[at]) /
                        static_cast<double>(std::max<uint64_t>(1, cell.lookups[at]));
    rates.push_back(rate);
    averages->rates[at] += rate;
    std::printf(" %*.2f", WidthOf(flags.policies[at]), rate);
    if (at == 0 || flags.policies[at].starts_with("belady") || rate >= best) continue;
    best = rate;
    best_at = at;
  }
  ++averages->cells;
  if (best_at > 0) {
    const double above = rates[0] - best;
    std::printf("  %+6.2f %s", above, flags.policies[best_at].c_str());
    if (above > averages->worst) {
      averages->worst = above;
      averages->worst_cell = cell.name;
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

void PrintAverages(const Flags& flags, const Averages& averages) {
  std::printf("%-44s", "average");
  for (size_t at = 0; at < averages.rates.size(); ++at) {
    std::printf(" %*.2f", WidthOf(flags.policies[at]),
                averages.rates[at] / static_cast<double>(std::max<size_t>(1, averages.cells)));
  }
  std::printf("\n");
  if (averages.worst_cell.empty()) return;
  std::printf("%s is at most %.2f points above the best of the others (%s)\n",
              flags.policies[0].c_str(), averages.worst, averages.worst_cell.c_str());
}

std::string NameOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string file = slash == path.npos ? path : path.substr(slash + 1);
  return file.substr(0, file.find('.'));
}

Status Run(const Flags& flags) {
  std::printf("miss rate in percent of distinct units of steps\n%-44s", "");
  for (const std::string& policy : flags.policies) {
    std::printf(" %*s", WidthOf(policy), policy.c_str());
  }
  std::printf("  to the best of the others\n");
  Averages averages(flags.policies.size());
  for (const std::string& path : flags.traces) {
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, LoadMemoryTrace(path));
    for (const uint32_t streams : flags.streams) {
      const size_t requests = trace->info().request_rows.size();
      if (streams > 1 && requests < std::max<size_t>(kFewestToLeaveOut, 2 * size_t{streams})) {
        continue;
      }
      std::vector<Cell> cells = CellsOf(NameOf(path), trace->info(), streams, flags);
      for (const Fold& fold : FoldsOf(trace->info(), streams, flags)) {
        BERTH_RETURN_IF_ERROR(PlayFold(trace.get(), fold, streams, flags, &cells));
      }
      for (const Cell& cell : cells) PrintCell(cell, flags, &averages);
    }
  }
  PrintAverages(flags, averages);
  if (!flags.limit || averages.worst <= *flags.limit) return Status();
  char limit[32];
  std::snprintf(limit, sizeof(limit), "%.2f", *flags.limit);
  return InternalError(averages.worst_cell +
                       ": farther above the best of the others than --limit " + limit);
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::Flags flags;
  CLI::App app("Miss rates on requests that a policy has not seen");
  app.add_option("traces", flags.traces, "Trace files")->required();
  app.add_option("--policy", flags.policies, "Policies; the first is held against the others")
      ->delimiter(';')
      ->allow_extra_args(false);
  app.add_option("--sizes", flags.sizes, "Percent of all units that have slots")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--streams", flags.streams, "Requests merged into one step")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber);
  app.add_option("--scope", flags.scopes, "shared, layer, or both")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"shared", "layer"}));
  app.add_option("--folds", flags.folds, "Turns of leaving requests out, at most")
      ->check(CLI::Range(2, 1000000));
  app.add_option("--warm-rows", flags.warm_rows, "Rows per stream to learn from; 0: all others");
  app.add_option("--limit", flags.limit,
                 "Points that the first policy may be above the best of the others; exits with 1 "
                 "where a cell has more")
      ->type_name("POINTS")
      ->allow_extra_args(false);
  app.add_flag("--bound", flags.bound, "Belady as well, the bound");
  app.add_flag("--smoke", flags.smoke, "Two sizes, two policies");
  CLI11_PARSE(app, argc, argv);
  if (flags.smoke) {
    flags.sizes = {25, 50};
    flags.policies = {"hazard", "lfu"};
  }
  if (flags.bound) flags.policies.push_back("belady");
  const berth::Status status = berth::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "policy_study: %s\n", status.ToString().c_str());
  return 1;
}
