#include "runtime/curve/curve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "policies/policy.h"
#include "runtime/base/format.h"
#include "runtime/count/step_reader.h"
#include "runtime/curve/maps.h"
#include "runtime/run/pass_source.h"

namespace berth::curve {
namespace {

// LRU's line has as many points as a screen could ever show, and costs no more than this.
constexpr uint64_t kMostLinePoints = 1u << 16;
constexpr uint64_t kMostLineWork = 1u << 24;

// What is wrong with a spec shows in the pool of the smallest size, before anything is counted.
Status CheckSpec(const std::string& spec, const CurveOptions& options, const CurveReport& report) {
  const Pool& pool = report.pools.pools.front();
  const uint32_t experts = static_cast<uint32_t>(pool.units / pool.layers.size());
  policies::PolicyOptions made;
  made.first_unit = pool.layers.front() * experts;
  made.units = (pool.layers.back() + 1 - pool.layers.front()) * experts;
  made.slots = report.sizes.front().pool_slots.front();
  made.top_k = report.pools.top_k;
  made.seed = options.seed;
  if (!options.workload.heat.empty()) {
    made.heat = std::span(options.workload.heat).subspan(made.first_unit, made.units);
  }
  const std::vector<uint64_t> future(made.units, policies::kNeverUsed);
  made.next_use = future;
  const policies::PolicyInfo* info = policies::FindPolicy(spec);
  if (info != nullptr && info->needs_heat && options.workload.heat.empty()) {
    return InvalidArgumentError("--policy " + spec + ": needs a profile: give --warm FILE");
  }
  return policies::MakePolicy(spec, made).status().Annotate("--policy");
}

void AddPolicy(const std::string& spec, CurveReport* report) {
  if (report->Find(spec)) return;
  const policies::PolicyInfo* info = policies::FindPolicy(spec);
  report->policies.push_back({spec, std::string(info->summary), info->needs_future, {}});
}

Status ChoosePolicies(const CurveOptions& options, CurveReport* report) {
  for (const std::string& spec : options.policies) {
    BERTH_RETURN_IF_ERROR(CheckSpec(spec, options, *report));
    if (!policies::FindPolicy(spec)->needs_future) AddPolicy(spec, report);
  }
  for (const policies::PolicyInfo& info : policies::Policies()) {
    if (!options.policies.empty() || info.needs_future) continue;
    if (info.needs_heat && options.workload.heat.empty()) {
      report->left_out.push_back({std::string(info.name), "needs a profile: give --warm FILE"});
      continue;
    }
    AddPolicy(std::string(info.name), report);
  }
  // The bounds come last, those that were asked for in other words among them.
  for (const std::string& spec : options.policies) AddPolicy(spec, report);
  for (const char* bound : {"belady", "belady:admit=always"}) {
    if (policies::FindPolicy(bound) != nullptr) AddPolicy(bound, report);
  }
  return Status();
}

Status CountPasses(const TraceFile& trace, const CurveOptions& options, CurveReport* report) {
  BERTH_ASSIGN_OR_RETURN(const PassSource source,
                         PassSource::Create(trace.info(), options.workload.passes));
  const uint64_t warmup = options.workload.warmup_passes;
  if (source.passes() == 0) return InvalidArgumentError("the trace has no rows to count");
  if (warmup >= source.passes()) {
    return InvalidArgumentError("--warmup " + std::to_string(warmup) + ": all that is played is " +
                                FormatCount(source.passes()) + " passes: nothing would be counted");
  }
  report->passes = source.passes() - warmup;
  report->rows_max = source.max_rows();
  return Status();
}

std::string SlotsOf(const CurveReport& report, bool Size::*flag) {
  std::string text;
  for (const Size& size : report.sizes) {
    if (size.*flag) text += (text.empty() ? "" : ", ") + FormatCount(size.slots);
  }
  return text;
}

void AddNotes(const CurveOptions& options, CurveReport* report) {
  const Pools& pools = report->pools;
  if (const std::string sizes = SlotsOf(*report, &Size::below_cycle); !sizes.empty()) {
    uint64_t cycle = 0;
    for (const Pool& pool : pools.pools) cycle += pools.Cycle(pool);
    report->notes.push_back(
        "the cliff: " + sizes + " slots are fewer than one token's " + FormatCount(cycle) +
        " units (layers x top-k): an order of recency over several layers hits next to nothing "
        "there; --scope per-layer gives each layer a quota");
  }
  if (const std::string sizes = SlotsOf(*report, &Size::below_minimum); !sizes.empty()) {
    report->notes.push_back("too small to run: " + sizes +
                            " slots are fewer than the 3 x top-k of each size class that an arena "
                            "must have");
  }
  if (options.workload.granularity == Granularity::kAccess && report->rows_max > 1) {
    report->notes.push_back(
        "access by access: the rows of a pass count one after the other, which no machine does; "
        "figures of --granularity step are those of a run");
  }
}

std::vector<CountRequest> Requests(const CurveOptions& options, const CurveReport& report) {
  std::vector<CountRequest> requests;
  for (const PolicyCurve& policy : report.policies) {
    for (const Size& size : report.sizes) {
      CountRequest request;
      request.policy = policy.spec;
      request.pool_slots = size.pool_slots;
      // A bound's own words say whether it may refuse.
      request.always_admit = options.always_admit && !policy.is_bound;
      request.preload = options.preload;
      request.seed = options.seed;
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

CountOptions Counting(const CurveOptions& options, std::string_view what) {
  CountOptions counting;
  if (options.progress) {
    counting.progress = [&options, what](uint64_t done, uint64_t passes) {
      options.progress(what, done, passes);
    };
  }
  return counting;
}

// The distinct units of the largest step of each pool.
Result<std::vector<uint32_t>> LargestSteps(TraceFile* trace, const CountWorkload& workload,
                                           const CurveReport& report) {
  const bool by_step = workload.granularity == Granularity::kStep;
  std::vector<uint32_t> largest(report.pools.pools.size(), by_step ? report.pools.top_k : 1);
  if (!by_step || report.rows_max == 1) return largest;
  BERTH_ASSIGN_OR_RETURN(count::StepReader reader, count::StepReader::Create(trace, workload));
  count::StepBlock block;
  while (true) {
    BERTH_ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
    if (!more) return largest;
    uint32_t begin = 0;
    for (const count::Run& run : block.runs) {
      uint32_t& of_pool = largest[report.pools.pool_of_layer[run.layer]];
      of_pool = std::max(of_pool, run.end - begin);
      begin = run.end;
    }
  }
}

// The fewest slots with which each pool holds any of its steps: from there on LRU's line is exact.
uint64_t FirstLineSlots(const std::vector<uint32_t>& largest_steps, const CurveReport& report) {
  uint64_t low = 1, high = report.pools.units;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const std::vector<uint32_t> split = SplitSlots(report.pools, middle);
    const bool holds =
        std::equal(split.begin(), split.end(), largest_steps.begin(), std::greater_equal<>());
    if (holds) high = middle;
    if (!holds) low = middle + 1;
  }
  return low;
}

void MakeLine(const LruCurve& curve, uint64_t first_slots, CurveReport* report) {
  const Pools& pools = report->pools;
  const uint64_t points =
      std::max<uint64_t>(256, std::min(kMostLinePoints, kMostLineWork / pools.pools.size()));
  report->lru.first_slots = first_slots;
  report->lru.stride = (pools.units - first_slots) / points + 1;
  for (uint64_t slots = first_slots; slots <= pools.units; slots += report->lru.stride) {
    const std::vector<uint32_t> split = SplitSlots(pools, slots);
    uint64_t misses = 0;
    for (size_t p = 0; p < split.size(); ++p) misses += curve.pool_misses[p][split[p]];
    report->lru.misses.push_back(misses);
  }
}

}  // namespace

std::optional<size_t> CurveReport::BestOnline(size_t size) const {
  std::optional<size_t> best;
  for (size_t p = 0; p < policies.size(); ++p) {
    if (policies[p].is_bound) continue;
    if (!best || policies[p].points[size].misses < policies[*best].points[size].misses) best = p;
  }
  return best;
}

std::optional<size_t> CurveReport::Bound(size_t size) const {
  std::optional<size_t> bound;
  for (size_t p = 0; p < policies.size(); ++p) {
    if (!policies[p].is_bound) continue;
    if (!bound || policies[p].points[size].misses < policies[*bound].points[size].misses) bound = p;
  }
  return bound;
}

std::optional<size_t> CurveReport::Find(std::string_view spec) const {
  for (size_t p = 0; p < policies.size(); ++p) {
    if (policies[p].spec == spec) return p;
  }
  return std::nullopt;
}

size_t CurveReport::Nearest(double share) const {
  const double wanted = share * static_cast<double>(pools.units);
  const auto distance = [&](const Size& size) {
    return std::abs(static_cast<double>(size.slots) - wanted);
  };
  const auto nearest =
      std::min_element(sizes.begin(), sizes.end(),
                       [&](const Size& a, const Size& b) { return distance(a) < distance(b); });
  return static_cast<size_t>(nearest - sizes.begin());
}

Result<CurveReport> MeasureCurve(TraceFile* trace, const CurveOptions& options) {
  CurveReport report;
  BERTH_ASSIGN_OR_RETURN(report.pools, MakePools(trace->info(), options.scope, options.unit_bytes));
  Result<std::vector<Size>> sizes = PlaceSizes(options.sizes, report.pools);
  if (!sizes.ok()) return sizes.status().Annotate("--sizes");
  report.sizes = std::move(*sizes);
  BERTH_RETURN_IF_ERROR(CountPasses(*trace, options, &report));
  BERTH_RETURN_IF_ERROR(ChoosePolicies(options, &report));
  AddNotes(options, &report);

  CountWorkload workload = options.workload;
  workload.pool_of_layer = report.pools.pool_of_layer;
  BERTH_ASSIGN_OR_RETURN(const LruCurve lru,
                         CountLruCurve(trace, workload, Counting(options, "LRU, all sizes")));
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint32_t> largest_steps,
                         LargestSteps(trace, workload, report));
  MakeLine(lru, FirstLineSlots(largest_steps, report), &report);

  if (report.sizes.front().slots < report.lru.first_slots) {
    report.notes.push_back("below " + FormatCount(report.lru.first_slots) +
                           " slots the largest steps do not fit: Belady comes close to the bound "
                           "there, but may miss more than another policy");
  }

  const std::vector<CountRequest> requests = Requests(options, report);
  BERTH_ASSIGN_OR_RETURN(std::vector<CountResult> counted,
                         CountMisses(trace, workload, requests, Counting(options, "all policies")));
  for (size_t i = 0; i < counted.size(); ++i) {
    report.policies[i / report.sizes.size()].points.push_back(std::move(counted[i]));
  }
  if (report.lookups() == 0) return InvalidArgumentError("the trace routes to no expert at all");
  if (!options.maps) return report;
  BERTH_RETURN_IF_ERROR(
      CountMaps(trace, workload, requests, Counting(options, "residency maps"), &report));
  return report;
}

}  // namespace berth::curve
