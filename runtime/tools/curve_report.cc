#include "runtime/tools/curve_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/format.h"
#include "runtime/tools/table.h"
#include "runtime/tools/text_plot.h"

namespace berth::tools {
namespace {

using curve::CurveReport;
using curve::PolicyCurve;
using curve::Size;

// Sizes, or policies, that stand side by side in a table of 100 columns.
constexpr size_t kSizesAcross = 8;

std::string Share(uint64_t slots, uint64_t units) {
  return absl::StrFormat("%.4g", 100.0 * static_cast<double>(slots) / static_cast<double>(units));
}

// Every pool holds its largest step: only there is Belady's rule proved to be the best.
bool HoldsSteps(const CurveReport& r, size_t size) {
  return r.sizes[size].slots >= r.lru.first_slots;
}

std::string Sentence(const CurveRun& run, size_t size) {
  const CurveReport& r = run.report;
  const Size& s = r.sizes[size];
  std::string text = "With " + FormatCount(s.slots) + " slots (" + Share(s.slots, r.pools.units) +
                     " % of the units) ";
  const auto miss = [&](size_t policy) {
    const CountResult& point = r.policies[policy].points[size];
    return MissPercent(point.misses, point.lookups) + " %";
  };
  const std::optional<size_t> best = r.BestOnline(size);
  const std::optional<size_t> lru = r.Find("lru");
  const std::optional<size_t> bound = r.Bound(size);
  if (best) text += r.policies[*best].spec + " misses least: " + miss(*best);
  if (best && lru && lru != best) text += ", LRU " + miss(*lru);
  if (bound) {
    text += best ? "; " : "";
    text += HoldsSteps(r, size)
                ? "no policy can miss less than " + miss(*bound) + " (Belady, which "
                : miss(*bound) + " is what Belady misses (which ";
    text += "knows the future)";
  }
  return text + ".";
}

// "To miss at most 10 % of the look-ups LRU needs 812 slots (48.8 % of the units)."
std::string LruNeeds(const CurveRun& run, uint64_t percent) {
  const CurveReport& r = run.report;
  const uint64_t most = r.lookups() * percent / 100;
  const auto fits = std::find_if(r.lru.misses.begin(), r.lru.misses.end(),
                                 [&](uint64_t misses) { return misses <= most; });
  // Where already the line's first size does, a smaller one may do as well.
  if (fits == r.lru.misses.end() || fits == r.lru.misses.begin()) return "";
  const uint64_t slots =
      r.lru.first_slots + static_cast<uint64_t>(fits - r.lru.misses.begin()) * r.lru.stride;
  return "To miss at most " + std::to_string(percent) + " % of the look-ups LRU needs " +
         FormatCount(slots) + " slots (" + Share(slots, r.pools.units) + " % of the units).";
}

std::string Cell(const CurveReport& r, size_t policy, size_t size) {
  const CountResult& point = r.policies[policy].points[size];
  // A blank keeps the figures of a column below each other.
  return MissPercent(point.misses, point.lookups) + (r.BestOnline(size) == policy ? "*" : " ");
}

std::string SizesTable(const CurveRun& run, size_t first, size_t end) {
  const CurveReport& r = run.report;
  std::vector<Column> columns = {{"slots (units)", Align::kLeft}};
  std::vector<std::string> shares = {"share (% of units)"};
  std::vector<std::string> bytes = {"arena (bytes)"};
  for (size_t s = first; s < end; ++s) {
    const Size& size = r.sizes[s];
    columns.push_back({FormatCount(size.slots) + " "});
    shares.push_back(Share(size.slots, r.pools.units) + " ");
    bytes.push_back(FormatBytes(r.pools.BytesOf(size.pool_slots)) + " ");
  }
  Table table(std::move(columns));
  table.AddRow(std::move(shares));
  if (r.pools.knows_bytes()) table.AddRow(std::move(bytes));
  table.AddRow({"misses (% of look-ups)"});
  for (size_t p = 0; p < r.policies.size(); ++p) {
    const PolicyCurve& policy = r.policies[p];
    std::vector<std::string> cells = {"  " + policy.spec + (policy.is_bound ? ", bound" : "")};
    for (size_t s = first; s < end; ++s) cells.push_back(Cell(r, p, s));
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

// Of all policies where some were asked for, else the most telling ones.
std::vector<size_t> LayerColumns(const CurveRun& run, size_t size) {
  const CurveReport& r = run.report;
  std::vector<size_t> columns;
  if (!run.options.policies.empty()) {
    for (size_t p = 0; p < r.policies.size(); ++p) columns.push_back(p);
    return columns;
  }
  for (const auto policy : {r.Find("lru"), r.BestOnline(size), r.Bound(size)}) {
    if (policy && std::find(columns.begin(), columns.end(), *policy) == columns.end()) {
      columns.push_back(*policy);
    }
  }
  return columns;
}

std::string LayerTable(const CurveRun& run, size_t size) {
  const CurveReport& r = run.report;
  const std::vector<size_t> chosen = LayerColumns(run, size);
  std::vector<Column> columns = {{"block", Align::kLeft}, {"look-ups"}};
  for (size_t p : chosen) columns.push_back({r.policies[p].spec + " (miss %)"});
  Table table(std::move(columns));
  const CountResult& any = r.policies.front().points[size];
  for (uint32_t layer = 0; layer < run.trace.layers; ++layer) {
    std::vector<std::string> cells = {std::to_string(BlockOf(run.trace, layer)),
                                      FormatCount(any.layer_lookups[layer])};
    for (size_t p : chosen) {
      const CountResult& point = r.policies[p].points[size];
      cells.push_back(MissPercent(point.layer_misses[layer], point.layer_lookups[layer]));
    }
    table.AddRow(std::move(cells));
  }
  return "\n" + FormatCount(r.sizes[size].slots) + " slots, layer by layer\n" + table.ToString();
}

// Where there is a shape to see.
std::string Plot(const CurveRun& run) {
  const CurveReport& r = run.report;
  if (r.sizes.size() < 3) return "";
  const auto percent = [&](uint64_t misses) {
    return 100.0 * static_cast<double>(misses) / static_cast<double>(r.lookups());
  };
  TextSeries lru{'.', {}}, best{'*', {}}, bound{'b', {}};
  double most = 10;
  for (size_t i = 0; i < r.lru.misses.size(); ++i) {
    const uint64_t slots = r.lru.first_slots + i * r.lru.stride;
    lru.points.emplace_back(slots, percent(r.lru.misses[i]));
    most = std::max(most, lru.points.back().second);
  }
  for (size_t s = 0; s < r.sizes.size(); ++s) {
    const auto add = [&](std::optional<size_t> policy, TextSeries* series) {
      if (!policy) return;
      series->points.emplace_back(r.sizes[s].slots, percent(r.policies[*policy].points[s].misses));
      most = std::max(most, series->points.back().second);
    };
    add(r.BestOnline(s), &best);
    add(r.Bound(s), &bound);
  }
  const TextPlot plot{static_cast<double>(r.pools.units),
                      10 * std::ceil(most / 10),
                      "slots",
                      "misses (% of look-ups): . LRU, * best of those without the future, b bound",
                      {lru, best, bound}};
  return "\n" + plot.ToString();
}

std::string Replayed(const CurveRun& run) {
  const PassOptions& passes = run.options.workload.passes;
  std::string text = FormatCount(run.report.passes) + " passes counted, " +
                     FormatCount(run.report.lookups()) + " look-ups";
  if (run.options.workload.warmup_passes > 0) {
    text += ", after " + FormatCount(run.options.workload.warmup_passes) + " to warm up";
  }
  if (passes.streams > 1) text += ", " + std::to_string(passes.streams) + " streams";
  if (passes.window > 1) text += ", windows of " + std::to_string(passes.window) + " rows";
  text += run.flags.granularity == "step" ? ", step by step" : ", access by access";
  return text + (run.flags.between == "carried" ? ", carried over between requests"
                                                : ", reset at each request");
}

std::string Shared(const CurveRun& run) {
  const curve::Pools& pools = run.report.pools;
  if (run.flags.scope == "per-layer") return "per layer: a quota for each of the layers";
  if (pools.pools.size() == 1) return run.flags.scope + ": one pool for all layers";
  return run.flags.scope + ": a pool for each of " + std::to_string(pools.pools.size()) +
         " unit sizes";
}

}  // namespace

uint32_t BlockOf(const TraceInfo& trace, uint32_t layer) {
  return trace.layer_ids.empty() ? layer : trace.layer_ids[layer];
}

std::string MissPercent(uint64_t misses, uint64_t lookups) {
  if (lookups == 0) return "-";
  return absl::StrFormat("%.2f",
                         100.0 * static_cast<double>(misses) / static_cast<double>(lookups));
}

std::vector<std::pair<std::string, std::string>> CurveFacts(const CurveRun& run) {
  const TraceInfo& t = run.trace;
  const CurveReport& r = run.report;
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("trace",
                     run.flags.trace + (t.model.empty() ? "" : " (" + Printable(t.model) + ")"));
  facts.emplace_back("routing", FormatCount(t.layers) + " layers of " + FormatCount(t.experts) +
                                    " experts, top-" + std::to_string(t.top_k) + "; " +
                                    FormatCount(r.pools.units) + " units, " + FormatCount(t.rows) +
                                    " rows in " + FormatCount(t.request_rows.size()) + " requests");
  facts.emplace_back("replayed", Replayed(run));
  facts.emplace_back("slots", Shared(run));
  if (run.flags.admit == "always") facts.emplace_back("admission", "always");
  if (!run.flags.warm.empty()) {
    facts.emplace_back("warm from", run.flags.warm + (run.options.preload ? ", preloaded" : ""));
  }
  return facts;
}

std::vector<std::string> CurveSummary(const CurveRun& run) {
  const CurveReport& r = run.report;
  std::vector<std::string> lines;
  const size_t last = r.sizes.size() - 1;
  for (size_t size : {size_t{0}, r.Nearest(0.5), last}) {
    std::string line = Sentence(run, size);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (std::string line = LruNeeds(run, 10); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string CurveTables(const CurveRun& run) {
  const CurveReport& r = run.report;
  Facts facts;
  for (auto& [name, value] : CurveFacts(run)) facts.Add(std::move(name), std::move(value));
  for (const std::string& note : r.notes) facts.Add("note", note);
  for (const curve::LeftOut& left : r.left_out)
    facts.Add("left out", left.policy + ": " + left.reason);
  std::string text = facts.ToString();
  for (size_t first = 0; first < r.sizes.size(); first += kSizesAcross) {
    text += "\n" + SizesTable(run, first, std::min(r.sizes.size(), first + kSizesAcross));
  }
  text += "* the fewest misses of those that do not know the future\n";
  text += Plot(run);
  if (run.flags.per_layer) {
    for (size_t size = 0; size < r.sizes.size(); ++size) text += LayerTable(run, size);
  }
  text += "\n";
  for (const std::string& line : CurveSummary(run)) text += line + "\n";
  return text;
}

}  // namespace berth::tools
