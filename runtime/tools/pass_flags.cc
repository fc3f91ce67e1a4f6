#include "runtime/tools/pass_flags.h"

#include "runtime/tools/options.h"

namespace berth::tools {
void AddPassFlags(CLI::App* app, const std::string& group, PassOptions* passes) {
  AddWhole(app, "--streams", &passes->streams, "Requests that run side by side", 1)->group(group);
  AddWhole(app, "--window", &passes->window, "Rows of a request in one pass, after its prompt", 1)
      ->group(group);
  AddWhole(app, "--passes", &passes->max_passes, "Stop after so many passes (0: all)")
      ->group(group);
  AddWhole(app, "--prompt-rows", &passes->prompt_rows,
           "First rows of each request that are its prompt (0: as the trace has them)")
      ->group(group);
  AddWhole(app, "--prompt-chunk", &passes->prompt_chunk,
           "Rows of a prompt in one pass (0: all of --prompt-rows, or as the trace has them)")
      ->group(group);
  const auto parse = [passes](const std::string& text) {
    Result<std::vector<uint32_t>> parsed = ParseWholeList("--requests", text);
    if (!parsed.ok()) throw CLI::ValidationError(std::string(parsed.status().message()));
    passes->requests = std::move(*parsed);
  };
  app->add_option_function<std::string>(
         "--requests", parse, "Requests to play, in this order: a list like 0-3,7 (default: all)")
      ->type_name("LIST")
      ->group(group);
}

}  // namespace berth::tools
