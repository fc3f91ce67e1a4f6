#include "bench/synth_figures.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/count/count.h"
#include "runtime/synth/synth.h"

namespace berth::bench {
namespace {

// A profile tells hot from cold. As a starting count it is worth less than one touch: it breaks
// ties, and what the request itself does outweighs it at once.
constexpr double kProfileWeight = 1e-4;

// For each unit, the share of passes that routed to it.
Result<std::vector<double>> CountProfile(const FigureOptions& options, bool independent) {
  SynthOptions other = options.traffic;
  other.seed += 1000;
  other.affinity = 0;  // requests of many users
  other.requests = options.profile_requests;
  other.passes = options.traffic.passes * other.requests / options.traffic.requests;
  other.independent = independent;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<SynthTrace> synth, SynthTrace::Create(other));
  std::vector<double> heat(size_t{other.layers} * other.experts);
  std::vector<uint64_t> last_pass(heat.size());
  for (uint64_t pass = 1; pass <= other.passes; ++pass) {
    for (uint32_t row = 0; row < other.pass_rows; ++row) {
      const std::span<const int32_t> experts = synth->Next().experts;
      for (size_t at = 0; at < experts.size(); ++at) {
        const size_t unit = at / other.top_k * other.experts + static_cast<size_t>(experts[at]);
        if (std::exchange(last_pass[unit], pass) == pass) continue;
        heat[unit] += kProfileWeight / static_cast<double>(other.passes);
      }
    }
  }
  return heat;
}

CountRequest Request(const SynthOptions& traffic, const std::string& policy, bool preload,
                     int gb = kHalfGb) {
  CountRequest request;
  request.policy = policy;
  request.preload = preload;
  const uint64_t units = uint64_t{traffic.layers} * traffic.experts;
  request.pool_slots = {static_cast<uint32_t>(units * static_cast<uint64_t>(gb) / kAllGb)};
  return request;
}

// Miss rates of the requests, into figures of the names beside them.
struct Named {
  std::string name;
  CountRequest request;
};
Status Count(TraceFile* trace, const CountWorkload& workload, const std::vector<Named>& named,
             Figures* figures, uint64_t* cold_misses = nullptr) {
  std::vector<CountRequest> requests;
  for (const Named& each : named) requests.push_back(each.request);
  BERTH_ASSIGN_OR_RETURN(const std::vector<CountResult> results,
                         CountMisses(trace, workload, requests));
  for (size_t at = 0; at < results.size(); ++at) {
    (*figures)[named[at].name] =
        100.0 * static_cast<double>(results[at].misses) / static_cast<double>(results[at].lookups);
    if (cold_misses != nullptr && named[at].name == "lru cold") *cold_misses = results[at].misses;
  }
  return Status();
}

Status CountPolicies(const SynthOptions& traffic, TraceFile* trace, std::vector<double> heat,
                     Figures* figures, uint64_t* cold_misses) {
  CountWorkload workload;
  workload.passes.window = traffic.pass_rows;
  workload.heat = std::move(heat);
  workload.between = Between::kReset;
  std::vector<Named> reset = {
      {"lru cold", Request(traffic, "lru", false)},
      {"lfu warm", Request(traffic, "lfu:decay=0.99", true)},
      {"half pinned", Request(traffic, "heat:pins=50%,every=1000000", true)}};
  for (const int gb : kCurveGb) {
    reset.push_back({"static " + std::to_string(gb), Request(traffic, "static", true, gb)});
    reset.push_back({"lru warm " + std::to_string(gb), Request(traffic, "lru", true, gb)});
  }
  BERTH_RETURN_IF_ERROR(Count(trace, workload, reset, figures, cold_misses));

  workload.between = Between::kCarried;
  BERTH_RETURN_IF_ERROR(Count(trace, workload,
                              {{"belady", Request(traffic, "belady", false)},
                               {"lfu carried", Request(traffic, "lfu:decay=0.99", false)}},
                              figures));
  for (const uint32_t streams : {2, 4}) {
    workload.passes.streams = streams;
    BERTH_RETURN_IF_ERROR(
        Count(trace, workload,
              {{"streams " + std::to_string(streams), Request(traffic, "lru", true)}}, figures));
  }
  return Status();
}

Status CountControl(const FigureOptions& options, Figures* figures) {
  SynthOptions traffic = options.traffic;
  traffic.independent = true;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, MakeSynthTrace(traffic));
  CountWorkload workload;
  workload.passes.window = traffic.pass_rows;
  BERTH_ASSIGN_OR_RETURN(workload.heat, CountProfile(options, true));
  workload.between = Between::kReset;
  BERTH_RETURN_IF_ERROR(Count(trace.get(), workload,
                              {{"independent static", Request(traffic, "static", true)},
                               {"independent lru", Request(traffic, "lru", false)}},
                              figures));
  workload.between = Between::kCarried;
  return Count(trace.get(), workload, {{"independent belady", Request(traffic, "belady", false)}},
               figures);
}

// How often experts come again: within a pass, from row to row, from pass to pass.
class Repeats {
 public:
  explicit Repeats(const SynthOptions& traffic)
      : traffic_(traffic),
        last_pass_(size_t{traffic.layers} * traffic.experts),
        last_row_(last_pass_.size()),
        request_(last_pass_.size()),
        distinct_(traffic.pass_rows) {}

  void BeginRequest() {
    ++request_number_;
    touched_.push_back(0);
    // A request's first pass and row follow no other.
    ++pass_;
    ++row_;
  }
  void BeginPass() { ++pass_; }
  void Row(uint32_t row_of_pass, std::span<const int32_t> experts) {
    ++row_;
    for (size_t at = 0; at < experts.size(); ++at) {
      const size_t unit = at / traffic_.top_k * traffic_.experts + static_cast<size_t>(experts[at]);
      const uint64_t row_before = std::exchange(last_row_[unit], row_);
      row_repeats_ += row_before + 1 == row_ ? 1 : 0;
      const uint64_t pass_before = std::exchange(last_pass_[unit], pass_);
      if (pass_before == pass_) continue;
      ++distinct_[row_of_pass];
      pass_repeats_ += pass_before + 1 == pass_ ? 1 : 0;
      touched_.back() += std::exchange(request_[unit], request_number_) != request_number_ ? 1 : 0;
    }
    entries_ += experts.size();
  }

  void Report(uint64_t cold_misses, Figures* figures) {
    uint64_t lookups = 0, first_touches = 0;
    for (uint32_t row = 0; row < distinct_.size(); ++row) {
      lookups += distinct_[row];
      (*figures)["distinct " + std::to_string(row + 1)] =
          static_cast<double>(lookups) / static_cast<double>(traffic_.passes * traffic_.layers);
    }
    for (const uint64_t each : touched_) first_touches += each;
    std::sort(touched_.begin(), touched_.end());
    (*figures)["pass repeats"] = static_cast<double>(pass_repeats_) / static_cast<double>(lookups);
    (*figures)["row repeats"] = static_cast<double>(row_repeats_) / static_cast<double>(entries_);
    (*figures)["working set"] =
        static_cast<double>(touched_[touched_.size() / 2]) / traffic_.layers;
    // Every first touch of a request misses where the cache begins empty.
    (*figures)["first touches"] =
        static_cast<double>(first_touches) / static_cast<double>(cold_misses);
  }

 private:
  const SynthOptions& traffic_;
  std::vector<uint64_t> last_pass_, last_row_;  // by unit
  std::vector<uint32_t> request_;               // that touched the unit last
  std::vector<uint64_t> distinct_;              // new ones of each row of a pass
  std::vector<uint64_t> touched_;               // distinct units of each request
  uint64_t pass_ = 1, row_ = 1, row_repeats_ = 0, pass_repeats_ = 0, entries_ = 0;
  uint32_t request_number_ = 0;
};

Status MeasureRepeats(const SynthOptions& traffic, TraceFile* trace, uint64_t cold_misses,
                      Figures* figures) {
  Repeats repeats(traffic);
  uint64_t at = 0;
  for (const uint32_t rows : trace->info().request_rows) {
    repeats.BeginRequest();
    for (uint32_t row = 0; row < rows; ++row) {
      if (row % traffic.pass_rows == 0) repeats.BeginPass();
      BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> experts, trace->Experts(at++));
      repeats.Row(row % traffic.pass_rows, experts);
    }
  }
  repeats.Report(cold_misses, figures);
  return Status();
}

}  // namespace

Result<Figures> MeasureFigures(const FigureOptions& options) {
  Figures figures;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, MakeSynthTrace(options.traffic));
  BERTH_ASSIGN_OR_RETURN(std::vector<double> heat, CountProfile(options, false));
  uint64_t cold_misses = 0;
  BERTH_RETURN_IF_ERROR(
      CountPolicies(options.traffic, trace.get(), std::move(heat), &figures, &cold_misses));
  BERTH_RETURN_IF_ERROR(MeasureRepeats(options.traffic, trace.get(), cold_misses, &figures));
  BERTH_RETURN_IF_ERROR(CountControl(options, &figures));
  return figures;
}

}  // namespace berth::bench
