// berth simulate: replays a routing trace through the scheduler core on a machine's profile.
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/simulate/auto_prefetch.h"
#include "runtime/simulate/simulate.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/learned.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"
#include "runtime/tools/progress.h"
#include "runtime/tools/run_flags.h"
#include "runtime/tools/run_report.h"

namespace berth::tools {
namespace {

constexpr std::array<ConfigKey, 4> kStatedKeys = {{{"layers", ConfigType::kInteger},
                                                   {"experts", ConfigType::kInteger},
                                                   {"top-k", ConfigType::kInteger},
                                                   {"unit-bytes", ConfigType::kString}}};

class SimulateCommand final : public Command {
 public:
  std::string name() const override { return "simulate"; }
  std::string summary() const override {
    return "Replay a routing trace on a machine's profile: the same decisions, virtual time";
  }

  void AddOptions(CLI::App* app) override {
    app_ = app;
    flags_.AddTo(app);
    const char* stated = "Without MODEL";
    AddWhole(app, "--layers", &stated_.layers, "MoE layers (default: the trace's)")
        ->default_str("")
        ->group(stated);
    AddWhole(app, "--experts", &stated_.experts, "Experts a layer (default: the trace's)")
        ->default_str("")
        ->group(stated);
    AddWhole(app, "--top-k", &stated_.top_k, "Experts a row (default: the trace's)")
        ->default_str("")
        ->group(stated);
    app->add_option(
           "--unit-bytes", unit_bytes_,
           "Bytes of a unit: one value, or one a layer, separated by commas (default: what "
           "the trace says)")
        ->group(stated);
    app->footer(
        "Examples:\n"
        "  berth simulate --trace t.safetensors --unit-bytes 2329600 --profile 4090-desktop\n"
        "  berth simulate model.gguf --trace t.safetensors --profile my.json --host-tier 32GB\n"
        "  berth simulate --trace t.safetensors --unit-bytes 2.3MB --arena 8GB --policy belady\n"
        "  berth simulate --trace t.safetensors --unit-bytes 2.3MB --profile 2x7900xtx --chunk 0 "
        "\\\n"
        "      --slots per-layer --json naive.json\n"
        "Built-in profiles: " +
        ProfileNames());
  }

  Status Run() override {
    SimulateOptions options;
    BERTH_ASSIGN_OR_RETURN(options.run, flags_.Options(app_));
    options.profile = flags_.profile();
    options.stated = stated_;
    if (!unit_bytes_.empty()) {
      BERTH_ASSIGN_OR_RETURN(options.stated.unit_bytes,
                             ParseBytesList("--unit-bytes", unit_bytes_));
    }
    BERTH_RETURN_IF_ERROR(CheckStated(options));
    BERTH_ASSIGN_OR_RETURN(
        JsonOutput json,
        JsonOutput::Open(flags_.json(), options.run.runtime.model, flags_.inputs()));
    BERTH_RETURN_IF_ERROR(CheckLearned(options.run, flags_));
    BERTH_RETURN_IF_ERROR(SettlePrefetch(&options));
    ProgressBar bar("passes");
    uint64_t shown = 0;
    options.run.progress = [&](uint64_t done, uint64_t passes) {
      if (shown == 0) bar.Begin("simulate", passes);
      bar.Add(done - shown);
      shown = done;
    };
    BERTH_ASSIGN_OR_RETURN(const RunReport report, Simulate(options));
    bar.End();
    BERTH_RETURN_IF_ERROR(WriteLearned(options.run, report));
    if (PrintsTables(flags_.json())) BERTH_RETURN_IF_ERROR(Print(ReportTable(report)));
    if (flags_.json().empty()) return Status();
    return json.Write(ReportJson(report, &options.run));
  }

 private:
  static std::string ProfileNames() {
    std::string names;
    for (const BuiltInProfile& profile : BuiltInProfiles()) {
      names += (names.empty() ? "" : ", ") + std::string(profile.name);
    }
    return names;
  }

  Status CheckStated(const SimulateOptions& options) const {
    const bool any =
        stated_.layers > 0 || stated_.experts > 0 || stated_.top_k > 0 || !unit_bytes_.empty();
    if (options.run.runtime.model.empty() || !any) return Status();
    return InvalidArgumentError(
        "MODEL together with --layers, --experts, --top-k or --unit-bytes: give one or the other");
  }

  CLI::App* app_ = nullptr;
  RunFlags flags_{RunFlags::Use::kSimulate, kStatedKeys};
  StatedModel stated_;
  std::string unit_bytes_;
};

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() { return std::make_unique<SimulateCommand>(); }

}  // namespace berth::tools
