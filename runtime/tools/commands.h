// All subcommands, in the order in which --help shows them.
#ifndef BERTH_RUNTIME_TOOLS_COMMANDS_H_
#define BERTH_RUNTIME_TOOLS_COMMANDS_H_

#include <memory>
#include <vector>

#include "runtime/tools/command.h"

// clang-format off
#define BERTH_COMMANDS(X) \
  X(Inspect)              \
  X(MakeModel)            \
  X(Pack)                 \
  X(Verify)               \
  X(Trace)                \
  X(Run)                  \
  X(Simulate)             \
  X(Curve)                \
  X(Probe)
// clang-format on

namespace berth::tools {

#define BERTH_DECLARE_COMMAND(Name) std::unique_ptr<Command> Make##Name##Command();
BERTH_COMMANDS(BERTH_DECLARE_COMMAND)
#undef BERTH_DECLARE_COMMAND

std::vector<std::unique_ptr<Command>> MakeCommands();

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_COMMANDS_H_
