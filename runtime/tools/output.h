// Where results go: tables for people on standard output, JSON for machines where --json says.
#ifndef BERTH_RUNTIME_TOOLS_OUTPUT_H_
#define BERTH_RUNTIME_TOOLS_OUTPUT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "berth/status.h"

namespace berth::tools {

// `path`: "-" is standard output; a regular file is written whole or not at all and replaces what
// was there; anything else that exists (a pipe, a device) is written to.
Status WriteJson(const std::string& path, const nlohmann::json& json);
// Ok where WriteJson will find a place for `path`, or there is nothing to write (empty). For work
// that takes long: better told before than after.
Status CheckJson(const std::string& path);
// True if tables for people should be printed: not when JSON takes standard output.
bool PrintsTables(const std::string& json_path);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_OUTPUT_H_
