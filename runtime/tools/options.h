// Flags that several commands have.
#ifndef BERTH_RUNTIME_TOOLS_OPTIONS_H_
#define BERTH_RUNTIME_TOOLS_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"

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
// "2.3MB", or one size for each layer: "1MB,1MB,2MB". The message begins with `flag`.
Result<std::vector<uint64_t>> ParseBytesList(const std::string& flag, const std::string& text);
// A whole number from `least` to `most`, in decimal digits and nothing else: what CLI11 reads by
// itself wraps negative numbers, takes an empty word for 0 and 010 for 8.
Result<uint64_t> ParseWhole(const std::string& flag, const std::string& text, uint64_t least,
                            uint64_t most);
template <typename T>
CLI::Option* AddWhole(CLI::App* app, const std::string& flag, T* value,
                      const std::string& description, uint64_t least = 0,
                      uint64_t most = std::numeric_limits<T>::max()) {
  const auto parse = [flag, value, least, most](const std::string& text) {
    const Result<uint64_t> parsed = ParseWhole(flag, text, least, most);
    if (!parsed.ok()) throw CLI::ValidationError(std::string(parsed.status().message()));
    *value = static_cast<T>(*parsed);
  };
  return app->add_option_function<std::string>(flag, parse, description)
      ->type_name("N")
      ->default_str(std::to_string(*value));
}
// "0-3,7" is 0, 1, 2, 3 and 7, in this order: single numbers and ranges, both ends included.
// InvalidArgument names the part that is neither; a list of more than a million is refused.
Result<std::vector<uint32_t>> ParseWholeList(const std::string& flag, const std::string& text);
// InvalidArgument unless `value` is one of `names`; it has the nearest of them.
Status OneOf(const std::string& flag, const std::string& value,
             std::initializer_list<std::string_view> names);
// A list, one value each time the flag is given: more would swallow the arguments after it.
CLI::Option* AddRepeatable(CLI::App* app, const std::string& flag, std::vector<std::string>* values,
                           const std::string& description);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_OPTIONS_H_
