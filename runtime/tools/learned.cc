#include "runtime/tools/learned.h"

#include <string>
#include <vector>

#include "io/file/output_file.h"
#include "policies/policy.h"
#include "runtime/run/warm_start.h"
#include "runtime/tools/output.h"

namespace berth::tools {

Status CheckLearned(const RunOptions& options, const RunFlags& flags) {
  if (options.save_learned.empty()) return Status();
  const policies::PolicyInfo* const info = policies::FindPolicy(options.runtime.policy);
  if (info != nullptr && info->needs_future) {
    return InvalidArgumentError("--save-learned with --policy " + std::string(info->name) +
                                ": it knows the future and learns nothing");
  }
  std::vector<std::string> inputs = flags.inputs();
  std::erase(inputs, options.warm);
  BERTH_RETURN_IF_ERROR(
      CheckOutputFile("--save-learned", options.save_learned, options.runtime.model, inputs));
  if (!flags.json().empty() && io::SamePlace(options.save_learned, flags.json())) {
    return InvalidArgumentError("--save-learned and --json name one file: " + flags.json());
  }
  return Status();
}

Status WriteLearned(const RunOptions& options, const RunReport& report) {
  if (options.save_learned.empty()) return Status();
  return SaveLearned(options.save_learned, report.shape.layers, report.shape.experts,
                     report.learned, "learned by " + options.runtime.policy);
}

}  // namespace berth::tools
