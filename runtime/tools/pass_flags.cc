#include "runtime/tools/pass_flags.h"

#include "runtime/base/format.h"
#include "runtime/tools/options.h"

namespace berth::tools {
namespace {

// A list in a flag that is longer was not meant.
constexpr size_t kMostRequests = 1u << 20;

}  // namespace

Result<std::vector<uint32_t>> ParseRequests(std::string_view list) {
  std::vector<uint32_t> requests;
  while (true) {
    const size_t comma = list.find(',');
    const std::string_view word = list.substr(0, comma);
    const size_t dash = word.find('-');
    BERTH_ASSIGN_OR_RETURN(
        const uint64_t first,
        ParseWhole("--requests", std::string(word.substr(0, dash)), 0, UINT32_MAX - 1));
    uint64_t last = first;
    if (dash != word.npos) {
      BERTH_ASSIGN_OR_RETURN(last, ParseWhole("--requests", std::string(word.substr(dash + 1)),
                                              first, UINT32_MAX - 1));
    }
    if (last - first >= kMostRequests - requests.size()) {
      return InvalidArgumentError("--requests: more than " + FormatCount(kMostRequests) +
                                  " requests");
    }
    for (uint64_t request = first; request <= last; ++request) {
      requests.push_back(static_cast<uint32_t>(request));
    }
    if (comma == list.npos) return requests;
    list.remove_prefix(comma + 1);
  }
}

void AddPassFlags(CLI::App* app, const std::string& group, PassOptions* passes) {
  AddWhole(app, "--streams", &passes->streams, "Requests that run side by side", 1)->group(group);
  AddWhole(app, "--window", &passes->window, "Rows of a request in one pass", 1)->group(group);
  AddWhole(app, "--passes", &passes->max_passes, "Stop after so many passes (0: all)")
      ->group(group);
  AddWhole(app, "--prompt-rows", &passes->prompt_rows,
           "Rows of each request that are its prompt (0: what the trace says)")
      ->group(group);
  AddWhole(app, "--prompt-chunk", &passes->prompt_chunk,
           "Rows of a prompt in one pass (0: as the trace has them)")
      ->group(group);
  const auto parse = [passes](const std::string& text) {
    Result<std::vector<uint32_t>> parsed = ParseRequests(text);
    if (!parsed.ok()) throw CLI::ValidationError(std::string(parsed.status().message()));
    passes->requests = std::move(*parsed);
  };
  app->add_option_function<std::string>("--requests", parse,
                                        "Requests to play, from 0: 0,3,8-11 (default: all)")
      ->type_name("LIST")
      ->group(group);
}

}  // namespace berth::tools
