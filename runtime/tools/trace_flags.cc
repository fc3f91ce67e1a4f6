#include "runtime/tools/trace_flags.h"

#include <numeric>

#include "runtime/tools/options.h"

namespace berth::tools {

CLI::Option* AddTrace(CLI::App* app, std::string* trace) {
  return app->add_option("TRACE", *trace, "A routing trace (safetensors, moe-routing-trace/1)")
      ->required();
}

void AddOutput(CLI::App* app, std::string* output, bool* force, const std::string& description) {
  app->add_option("-o,--output", *output, description)->required()->type_name("FILE");
  app->add_flag("--force", *force, "Replace an existing file");
}

std::function<void(uint64_t done, uint64_t rows)> RowProgress::Function() {
  return [this](uint64_t done, uint64_t rows) {
    if (shown_ == 0 || done < shown_) {
      bar_.Begin(what_, rows);
      shown_ = 0;
    }
    bar_.Add(done - shown_);
    shown_ = done;
  };
}

Result<std::vector<uint32_t>> ParseSelection(const std::string& flag, const std::string& what,
                                             const std::string& text, uint64_t count) {
  std::vector<uint32_t> chosen;
  if (text.empty()) {
    chosen.resize(count);
    std::iota(chosen.begin(), chosen.end(), 0u);
    return chosen;
  }
  BERTH_ASSIGN_OR_RETURN(chosen, ParseWholeList(flag, text));
  std::vector<bool> seen(count);
  for (const uint32_t each : chosen) {
    if (each >= count) {
      return OutOfRangeError(flag + " " + text + ": " + what + " " + std::to_string(each) +
                             ", but the trace has 0 to " + std::to_string(count - 1));
    }
    if (seen[each]) {
      return InvalidArgumentError(flag + " " + text + ": " + what + " " + std::to_string(each) +
                                  " is named twice");
    }
    seen[each] = true;
  }
  return chosen;
}

}  // namespace berth::tools
