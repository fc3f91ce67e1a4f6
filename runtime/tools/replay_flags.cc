#include "runtime/tools/replay_flags.h"

#include <limits>

#include "runtime/base/format.h"
#include "runtime/tools/options.h"

namespace berth::tools {
namespace {

constexpr uint64_t kMostRequests = 1'000'000;

}  // namespace

Result<std::vector<uint32_t>> ParseRequests(std::string_view text) {
  std::vector<uint32_t> requests;
  for (size_t at = 0; at <= text.size();) {
    const std::string_view part = text.substr(at, text.find(',', at) - at);
    at += part.size() + 1;
    const size_t dash = part.find('-');
    const auto number = [&](std::string_view digits) {
      Result<uint64_t> parsed =
          ParseWhole("--requests", std::string(digits), 0, std::numeric_limits<uint32_t>::max());
      if (parsed.ok()) return parsed;
      return Result<uint64_t>(
          InvalidArgumentError("--requests " + std::string(text) + ": '" + std::string(part) +
                               "' is no request and no range of them: expected a list like 0-3,7"));
    };
    BERTH_ASSIGN_OR_RETURN(const uint64_t first, number(part.substr(0, dash)));
    uint64_t last = first;
    if (dash != part.npos) {
      BERTH_ASSIGN_OR_RETURN(last, number(part.substr(dash + 1)));
    }
    if (last < first) {
      return InvalidArgumentError("--requests " + std::string(text) + ": '" + std::string(part) +
                                  "' ends before it begins");
    }
    if (last - first >= kMostRequests - requests.size()) {
      return InvalidArgumentError("--requests " + std::string(text) + ": more than " +
                                  FormatCount(kMostRequests) + " requests");
    }
    for (uint64_t r = first; r <= last; ++r) requests.push_back(static_cast<uint32_t>(r));
  }
  return requests;
}

void ReplayFlags::AddTo(CLI::App* app) {
  const char* replay = "Replay";
  AddWhole(app, "--streams", &passes_.streams, "Requests that run side by side", 1)->group(replay);
  AddWhole(app, "--window", &passes_.window, "Rows of a request in one pass, after its prompt", 1)
      ->group(replay);
  AddWhole(app, "--prompt-rows", &passes_.prompt_rows,
           "First rows of each request that are its prompt (0: as the trace has them)")
      ->group(replay);
  AddWhole(app, "--prompt-chunk", &passes_.prompt_chunk,
           "Rows of a prompt in one pass (0: all of --prompt-rows, or as the trace has them)")
      ->group(replay);
  app->add_option("--requests", requests_,
                  "Requests to play, in this order: a list like 0-3,7 (default: all)")
      ->type_name("LIST")
      ->group(replay);
  AddWhole(app, "--passes", &passes_.max_passes, "Stop after so many passes (0: all)")
      ->group(replay);
  app->add_option("--prefetch", prefetch_,
                  "Bytes of units a step to fetch ahead, as the trace's early routers said; or "
                  "auto: what the simulator finds best, with --profile (default: none)")
      ->type_name("BYTES|auto")
      ->group(replay);
  AddWhole(app, "--prefetch-ahead", &prefetch_ahead_, "Layers to fetch ahead: 1 or 2", 1, 2)
      ->group(replay)
      ->each([this](const std::string&) { ahead_given_ = true; });
  app->add_option("--warm", warm_,
                  "Heat file to begin with: policies know it, and the slots are filled with the "
                  "hottest units before the first step")
      ->type_name("FILE")
      ->group(replay);
  app->add_option("--save-learned", save_learned_,
                  "Write what the policy learned to a heat file at the end, for --warm")
      ->type_name("FILE")
      ->group(replay);
}

Status ReplayFlags::Fill(RunOptions* options) const {
  options->passes = passes_;
  if (!requests_.empty()) {
    BERTH_ASSIGN_OR_RETURN(options->passes.requests, ParseRequests(requests_));
  }
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
