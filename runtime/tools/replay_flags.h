// The flags that say what a trace plays: requests, streams, prompts, prefetch, and with what a run
// begins and what it keeps.
#ifndef BERTH_RUNTIME_TOOLS_REPLAY_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_REPLAY_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

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
  std::string prefetch_;
  uint32_t prefetch_ahead_ = 1;
  bool ahead_given_ = false;
  std::string warm_;
  std::string save_learned_;
};

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_REPLAY_FLAGS_H_
