// The flags that say which passes a trace makes, for every command that replays one.
#ifndef BERTH_RUNTIME_TOOLS_PASS_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_PASS_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "runtime/run/pass_source.h"

namespace berth::tools {

// --streams, --window, --passes, --prompt-rows, --prompt-chunk and --requests, in `group`.
void AddPassFlags(CLI::App* app, const std::string& group, PassOptions* passes);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_PASS_FLAGS_H_
