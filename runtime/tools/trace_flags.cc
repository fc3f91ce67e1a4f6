#include "runtime/tools/trace_flags.h"

#include <numeric>
#include <string_view>

#include "io/csv/numbers.h"

namespace berth::tools {

CLI::Option* AddTrace(CLI::App* app, std::string* trace) {
  return app->add_option("TRACE", *trace, "A routing trace (safetensors, moe-routing-trace/1)")
      ->required();
}

void AddOutput(CLI::App* app, std::string* output, bool* force, const std::string& description) {
  app->add_option("-o,--output", *output, description)->required()->type_name("FILE");
  app->add_flag("--force", *force, "Replace an existing file");
}

Result<std::vector<uint32_t>> ParseSelection(const std::string& flag, const std::string& what,
                                             const std::string& text, uint64_t count) {
  std::vector<uint32_t> chosen;
  if (text.empty()) {
    chosen.resize(count);
    std::iota(chosen.begin(), chosen.end(), 0u);
    return chosen;
  }
  std::vector<bool> seen(count);
  std::string_view rest = text;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const size_t dash = part.find('-');
    const bool range = dash != std::string_view::npos;
    uint32_t first = 0;
    uint32_t last = 0;
    if (!io::ParseNumber(part.substr(0, dash), &first) ||
        !io::ParseNumber(range ? part.substr(dash + 1) : part, &last) || last < first) {
      return InvalidArgumentError(flag + " " + text +
                                  ": expected numbers and ranges, as in 0-9,12");
    }
    if (last >= count) {
      return OutOfRangeError(flag + " " + text + ": " + what + " " + std::to_string(last) +
                             ", but the trace has " + std::to_string(count));
    }
    for (uint32_t each = first; each <= last; ++each) {
      if (seen[each]) {
        return InvalidArgumentError(flag + " " + text + ": " + what + " " + std::to_string(each) +
                                    " is named twice");
      }
      seen[each] = true;
      chosen.push_back(each);
    }
    if (part.size() == rest.size()) return chosen;
    rest.remove_prefix(part.size() + 1);
  }
}

}  // namespace berth::tools
