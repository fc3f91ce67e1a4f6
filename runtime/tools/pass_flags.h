// The flags that say which passes a trace makes, for every command that replays one.
#ifndef BERTH_RUNTIME_TOOLS_PASS_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_PASS_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "runtime/run/pass_source.h"

namespace berth::tools {

// --streams, --window, --passes, --prompt-rows, --prompt-chunk and --requests, in `group`.
void AddPassFlags(CLI::App* app, const std::string& group, PassOptions* passes);

// "0,3,8-11": numbers and ranges, in this order.
Result<std::vector<uint32_t>> ParseRequests(std::string_view list);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_PASS_FLAGS_H_
