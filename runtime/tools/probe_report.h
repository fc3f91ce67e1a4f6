// What `berth probe` measured, as tables for people and as JSON for programs.
#ifndef BERTH_RUNTIME_TOOLS_PROBE_REPORT_H_
#define BERTH_RUNTIME_TOOLS_PROBE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/probe/probe.h"

namespace berth::tools {

// `profile`: the file that it was written to; empty: none.
std::string ProbeTable(const probe::ProbeReport& report, const std::string& profile);
nlohmann::json ProbeJson(const probe::ProbeReport& report, const std::string& profile);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_PROBE_REPORT_H_
