// The flags that say what a trace plays: requests, streams, prompts, prefetch, and with what a run
// begins and what it keeps.
#ifndef BERTH_RUNTIME_TOOLS_REPLAY_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_REPLAY_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "runtime/run/runner.h"

namespace berth::tools {

class ReplayFlags {
 public:
  void AddTo(CLI::App* app);
  // Checks what can be checked without the trace and fills its part of the options.
  Status Fill(RunOptions* options) const;
  const std::string& warm() const { return warm_; }

 private:
  PassOptions passes_;
  std::string requests_;
  std::string prefetch_;
  uint32_t prefetch_ahead_ = 1;
  bool ahead_given_ = false;
  std::string warm_;
  std::string save_learned_;
};

// "0-3,7" is 0, 1, 2, 3 and 7, in this order. InvalidArgument names the part that is no number and
// no rising range; a list of more than a million is refused.
Result<std::vector<uint32_t>> ParseRequests(std::string_view text);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_REPLAY_FLAGS_H_
