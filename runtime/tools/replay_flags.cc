#include "runtime/tools/replay_flags.h"

#include "runtime/base/format.h"
#include "runtime/tools/options.h"
#include "runtime/tools/pass_flags.h"

namespace berth::tools {
void ReplayFlags::AddTo(CLI::App* app) {
  const char* replay = "Replay";
  AddPassFlags(app, replay, &passes_);
  app->add_option("--prefetch", prefetch_,
                  "Bytes of units a step to fetch ahead, as the trace's early routers said; or "
                  "auto: what the simulator finds best, with --profile (default: none)")
      ->type_name("BYTES|auto")
      ->group(replay);
  AddWhole(app, "--prefetch-ahead", &prefetch_ahead_, "Layers to fetch ahead: 1 or 2", 1, 2)
      ->group(replay)
      ->each([this](const std::string&) { ahead_given_ = true; });
  app->add_option("--warm", warm_,
                  "Heat file to begin with: policies know it, and the arenas and the host tier are "
                  "filled with the hottest units before the first step")
      ->type_name("FILE")
      ->group(replay);
  app->add_option("--save-learned", save_learned_,
                  "Write what the policy learned to a heat file at the end, for --warm")
      ->type_name("FILE")
      ->group(replay);
}

Status ReplayFlags::Fill(RunOptions* options) const {
  options->passes = passes_;
  options->prefetch.ahead = prefetch_ahead_;
  if (prefetch_ == "auto") {
    options->prefetch_auto = true;
  } else if (!prefetch_.empty()) {
    const Result<uint64_t> bytes = ParseBytes(prefetch_);
    if (!bytes.ok()) {
      return InvalidArgumentError("--prefetch " + prefetch_ +
                                  ": expected auto or a size like 8MB, 0 for none");
    }
    options->prefetch.step_bytes = *bytes;
  }
  if (ahead_given_ && prefetch_.empty()) {
    return InvalidArgumentError("--prefetch-ahead without --prefetch: say how much to fetch");
  }
  options->warm = warm_;
  options->save_learned = save_learned_;
  return Status();
}

}  // namespace berth::tools
