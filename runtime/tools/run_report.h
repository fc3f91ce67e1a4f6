// A run's report: a table for people, JSON for machines.
#ifndef BERTH_RUNTIME_TOOLS_RUN_REPORT_H_
#define BERTH_RUNTIME_TOOLS_RUN_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/run/runner.h"

namespace berth::tools {

std::string ReportTable(const RunReport& report);
nlohmann::json ReportJson(const RunReport& report);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_RUN_REPORT_H_
