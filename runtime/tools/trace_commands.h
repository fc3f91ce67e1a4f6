// The subcommands of `berth trace`, in the order in which --help shows them.
//
// To add one: a file `trace_<name>.cc` that defines MakeTrace<Name>Command(), a line here, a line
// in CMakeLists.txt.
#ifndef BERTH_RUNTIME_TOOLS_TRACE_COMMANDS_H_
#define BERTH_RUNTIME_TOOLS_TRACE_COMMANDS_H_

#include <memory>

#include "runtime/tools/command.h"

// clang-format off
#define BERTH_TRACE_COMMANDS(X) \
  X(Cut)
// clang-format on

namespace berth::tools {

#define BERTH_DECLARE_COMMAND(Name) std::unique_ptr<Command> MakeTrace##Name##Command();
BERTH_TRACE_COMMANDS(BERTH_DECLARE_COMMAND)
#undef BERTH_DECLARE_COMMAND

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_TRACE_COMMANDS_H_
