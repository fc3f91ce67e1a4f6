// What --help prints, wrapped to kHelpColumns.
#ifndef BERTH_RUNTIME_TOOLS_HELP_H_
#define BERTH_RUNTIME_TOOLS_HELP_H_

#include <CLI/CLI.hpp>
#include <memory>

namespace berth::tools {

inline constexpr size_t kHelpColumns = 100;

// Subcommands that are added afterwards have it too. Only footers are the commands' own business.
void WrapHelp(CLI::App* app);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_HELP_H_
