// Flags that several subcommands of `berth trace` have.
#ifndef BERTH_RUNTIME_TOOLS_TRACE_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_TRACE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/tools/progress.h"

namespace berth::tools {

// The positional argument TRACE.
CLI::Option* AddTrace(CLI::App* app, std::string* trace);
// -o, --output FILE and --force.
void AddOutput(CLI::App* app, std::string* output, bool* force, const std::string& description);

// Numbers below `count` from "0-9,12": single ones and ranges, both ends included, in this order;
// "" is all of them. `what` names them in errors ("request"), `flag` the flag.
Result<std::vector<uint32_t>> ParseSelection(const std::string& flag, const std::string& what,
                                             const std::string& text, uint64_t count);

// A bar over rows. Where the rows done fall, another pass over them has begun.
class RowProgress {
 public:
  explicit RowProgress(std::string what) : what_(std::move(what)) {}
  // Refers to this object.
  std::function<void(uint64_t done, uint64_t rows)> Function();
  void End() { bar_.End(); }

 private:
  const std::string what_;
  ProgressBar bar_{"rows"};
  uint64_t shown_ = 0;
};

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_TRACE_FLAGS_H_
