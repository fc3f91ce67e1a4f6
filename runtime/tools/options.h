// Flags that several commands have.
#ifndef BERTH_RUNTIME_TOOLS_OPTIONS_H_
#define BERTH_RUNTIME_TOOLS_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::tools {

// The positional argument MODEL.
CLI::Option* AddModel(CLI::App* app, std::string* model);
// --conventions, for architectures that are not in the table.
CLI::Option* AddConventions(CLI::App* app, std::string* conventions);
// --json FILE, or - for standard output.
CLI::Option* AddJson(CLI::App* app, std::string* json);
// A size, as ParseBytes takes it: "24GB", "512MiB".
CLI::Option* AddBytes(CLI::App* app, const std::string& flag, uint64_t* bytes,
                      const std::string& description);
// A list, one value each time the flag is given: more would swallow the arguments after it.
CLI::Option* AddRepeatable(CLI::App* app, const std::string& flag, std::vector<std::string>* values,
                           const std::string& description);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_OPTIONS_H_
