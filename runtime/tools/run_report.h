// A run's report: a table for people, JSON for machines.
#ifndef BERTH_RUNTIME_TOOLS_RUN_REPORT_H_
#define BERTH_RUNTIME_TOOLS_RUN_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/run/runner.h"

namespace berth::tools {

std::string ReportTable(const RunReport& report);
// With `request`, what was asked for under "request": a report then says by itself what it is of.
nlohmann::json ReportJson(const RunReport& report, const RunOptions* request = nullptr);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_RUN_REPORT_H_
