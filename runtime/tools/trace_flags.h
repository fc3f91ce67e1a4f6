// Flags that several subcommands of `berth trace` have.
#ifndef BERTH_RUNTIME_TOOLS_TRACE_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_TRACE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"

namespace berth::tools {

// The positional argument TRACE.
CLI::Option* AddTrace(CLI::App* app, std::string* trace);
// -o, --output FILE and --force.
void AddOutput(CLI::App* app, std::string* output, bool* force, const std::string& description);

// Numbers below `count` from "0-9,12": single ones and ranges, both ends included, in this order;
// "" is all of them. `what` names them in errors ("request"), `flag` the flag.
Result<std::vector<uint32_t>> ParseSelection(const std::string& flag, const std::string& what,
                                             const std::string& text, uint64_t count);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_TRACE_FLAGS_H_
