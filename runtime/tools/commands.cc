#include "runtime/tools/commands.h"

namespace berth::tools {

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
#define BERTH_MAKE_COMMAND(Name) commands.push_back(Make##Name##Command());
  BERTH_COMMANDS(BERTH_MAKE_COMMAND)
#undef BERTH_MAKE_COMMAND
  return commands;
}

}  // namespace berth::tools
