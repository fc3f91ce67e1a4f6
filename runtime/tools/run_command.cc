// berth run: replays a routing trace on a model through real reads, copies and expert math.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/run/runner.h"
#include "runtime/run/warm_start.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/output.h"
#include "runtime/tools/progress.h"
#include "runtime/tools/run_flags.h"
#include "runtime/tools/run_report.h"

namespace berth::tools {
namespace {

class RunCommand final : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override {
    return "Replay a routing trace on a model: real reads, copies and expert math";
  }

  void AddOptions(CLI::App* app) override {
    app_ = app;
    flags_.AddTo(app);
  }

  Status Run() override {
    BERTH_ASSIGN_OR_RETURN(RunOptions options, flags_.Options(app_));
    BERTH_ASSIGN_OR_RETURN(JsonOutput json,
                           JsonOutput::Open(flags_.json(), options.runtime.model, flags_.inputs()));
    BERTH_RETURN_IF_ERROR(CheckLearned(options));
    if (options.prefetch_auto) {
      return UnimplementedError("--prefetch auto: give a size");
    }
    ProgressBar bar("passes");
    uint64_t shown = 0;
    options.progress = [&](uint64_t done, uint64_t passes) {
      if (shown == 0) bar.Begin("run", passes);
      bar.Add(done - shown);
      shown = done;
    };
    BERTH_ASSIGN_OR_RETURN(const RunReport report, RunTrace(options));
    bar.End();
    if (!options.save_learned.empty()) {
      BERTH_RETURN_IF_ERROR(SaveLearned(options.save_learned, report.shape.layers,
                                        report.shape.experts, report.learned,
                                        "learned by " + options.runtime.policy));
    }
    if (PrintsTables(flags_.json())) BERTH_RETURN_IF_ERROR(Print(ReportTable(report)));
    if (!flags_.json().empty()) {
      BERTH_RETURN_IF_ERROR(json.Write(ReportJson(report, &options)));
    }
    if (report.failed_steps > 0) {
      // Whatever the first failure was, the request was right and the work failed.
      return UnavailableError(
          std::to_string(report.failed_steps) + " of " +
          std::to_string(report.stats.counters.steps) +
          " steps failed, first: " + std::string(report.first_failure.message()));
    }
    return Status();
  }

 private:
  // The heat file that the run begins with may be the one that it writes.
  Status CheckLearned(const RunOptions& options) const {
    if (options.save_learned.empty()) return Status();
    std::vector<std::string> inputs = flags_.inputs();
    std::erase(inputs, options.warm);
    BERTH_RETURN_IF_ERROR(
        CheckOutputFile("--save-learned", options.save_learned, options.runtime.model, inputs));
    if (options.save_learned == flags_.json()) {
      return InvalidArgumentError("--save-learned and --json name one file: " +
                                  options.save_learned);
    }
    return Status();
  }

  CLI::App* app_ = nullptr;
  RunFlags flags_;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace berth::tools
