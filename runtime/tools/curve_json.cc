#include <nlohmann/json.hpp>
#include <string>

#include "runtime/tools/curve_report.h"
#include "runtime/tools/table.h"

namespace berth::tools {
namespace {

using curve::CurveReport;
using nlohmann::json;

// As asked for: what was chosen automatically stands beside it.
json RequestJson(const CurveRun& run) {
  const PassOptions& passes = run.options.workload.passes;
  return {{"trace", run.flags.trace},
          {"sizes", run.flags.sizes},
          {"policies", run.options.policies},
          {"scope", run.flags.scope},
          {"granularity", run.flags.granularity},
          {"admit", run.flags.admit},
          {"between", run.flags.between},
          {"unit_bytes", run.options.unit_bytes},
          {"warm", run.flags.warm},
          {"preload", run.options.preload},
          {"seed", run.options.seed},
          {"streams", passes.streams},
          {"window", passes.window},
          {"passes", passes.max_passes},
          {"prompt_rows", passes.prompt_rows},
          {"prompt_chunk", passes.prompt_chunk},
          {"requests", passes.requests},
          {"warmup", run.options.workload.warmup_passes}};
}

json TraceJson(const CurveRun& run) {
  const TraceInfo& t = run.trace;
  return {{"model", t.model},        {"source", t.source},
          {"layers", t.layers},      {"experts", t.experts},
          {"top_k", t.top_k},        {"units", run.report.pools.units},
          {"rows", t.rows},          {"requests", t.request_rows.size()},
          {"layer_ids", t.layer_ids}};
}

json SizeJson(const CurveReport& r, size_t s) {
  const curve::Size& size = r.sizes[s];
  json made = {{"label", size.label},
               {"slots", size.slots},
               {"share", Rate(size.slots, r.pools.units)},
               {"bytes", nullptr},
               {"pool_slots", size.pool_slots},
               {"below_cycle", size.below_cycle},
               {"below_minimum", size.below_minimum},
               {"best_online", nullptr}};
  if (r.pools.knows_bytes()) made["bytes"] = r.pools.BytesOf(size.pool_slots);
  if (const auto best = r.BestOnline(s)) made["best_online"] = r.policies[*best].spec;
  return made;
}

json PointJson(const CurveReport& r, size_t s, const CountResult& point) {
  return {{"slots", r.sizes[s].slots},
          {"lookups", point.lookups},
          {"misses", point.misses},
          {"inserted", point.inserted},
          {"miss_rate", Rate(point.misses, point.lookups)},
          {"layer_misses", point.layer_misses}};
}

json PolicyJson(const CurveReport& r, const curve::PolicyCurve& policy) {
  json points = json::array();
  for (size_t s = 0; s < policy.points.size(); ++s) {
    points.push_back(PointJson(r, s, policy.points[s]));
  }
  return {{"name", policy.spec},
          {"summary", policy.summary},
          {"bound", policy.is_bound},
          {"points", std::move(points)}};
}

}  // namespace

json CurveJson(const CurveRun& run) {
  const CurveReport& r = run.report;
  json made = {
      {"format", "berth-curve/1"},
      {"request", RequestJson(run)},
      {"trace", TraceJson(run)},
      {"passes", r.passes},
      {"rows_max", r.rows_max},
      {"lookups", r.lookups()},
      {"layer_lookups", r.policies.front().points.front().layer_lookups},
      {"pools", json::array()},
      {"sizes", json::array()},
      {"policies", json::array()},
      {"left_out", json::array()},
      {"lru_curve",
       {{"first_slots", r.lru.first_slots}, {"stride", r.lru.stride}, {"misses", r.lru.misses}}},
      {"notes", r.notes},
      {"summary", CurveSummary(run)}};
  for (const curve::Pool& pool : r.pools.pools) {
    made["pools"].push_back({{"layers", pool.layers},
                             {"units", pool.units},
                             {"unit_bytes", r.pools.classes[pool.size_class].unit_bytes}});
  }
  for (size_t s = 0; s < r.sizes.size(); ++s) made["sizes"].push_back(SizeJson(r, s));
  for (const curve::PolicyCurve& policy : r.policies) {
    made["policies"].push_back(PolicyJson(r, policy));
  }
  for (const curve::LeftOut& left : r.left_out) {
    made["left_out"].push_back({{"policy", left.policy}, {"reason", left.reason}});
  }
  return made;
}

}  // namespace berth::tools
