// What `berth curve` reports: tables for people, JSON for programs, a page for both.
#ifndef BERTH_RUNTIME_TOOLS_CURVE_REPORT_H_
#define BERTH_RUNTIME_TOOLS_CURVE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/curve/curve.h"
#include "runtime/tools/curve_flags.h"
#include "runtime/trace/trace.h"

namespace berth::tools {

// A measured curve with what was asked for.
struct CurveRun {
  const CurveFlags& flags;
  const curve::CurveOptions& options;
  const TraceInfo& trace;
  const curve::CurveReport& report;
};

// Sentences that say what the curve shows.
std::vector<std::string> CurveSummary(const CurveRun& run);
// "26 layers of 64 experts, top-6; ..." and how it was replayed, with names.
std::vector<std::pair<std::string, std::string>> CurveFacts(const CurveRun& run);

std::string CurveTables(const CurveRun& run);
nlohmann::json CurveJson(const CurveRun& run);
// The same JSON, with residency maps, as a page that opens offline.
Result<std::string> CurvePage(const CurveRun& run);

// The number that people know a layer by.
uint32_t BlockOf(const TraceInfo& trace, uint32_t layer);
std::string MissPercent(uint64_t misses, uint64_t lookups);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_CURVE_REPORT_H_
