// berth pack: a GGUF whose units are contiguous, aligned and checksummed.
#include <cstdio>

#include "runtime/base/format.h"
#include "runtime/pack/pack.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/options.h"
#include "runtime/tools/progress.h"

namespace berth::tools {
namespace {

class PackCommand final : public Command {
 public:
  std::string name() const override { return "pack"; }
  std::string summary() const override {
    return "Write a copy of a model whose units are one aligned, checksummed read each";
  }

  void AddOptions(CLI::App* app) override {
    AddModel(app, &options_.model);
    app->add_option("OUT", options_.output, "The pack to write")->required();
    AddConventions(app, &options_.conventions);
    app->add_option("--threads", options_.threads, "Threads that copy")->check(CLI::Range(1, 256));
    app->add_flag("--force", options_.replace, "Replace an existing file");
  }

  Status Run() override {
    ProgressBar bar;
    BERTH_ASSIGN_OR_RETURN(const models::PackReport report, models::PackModel(options_, &bar));
    bar.End();
    std::printf("%s: %s units of %u layers, %s (%s units, %s other tensors)\n",
                options_.output.c_str(), FormatCount(report.units).c_str(), report.layers,
                FormatBytes(report.file_bytes).c_str(), FormatBytes(report.unit_bytes).c_str(),
                FormatBytes(report.other_bytes).c_str());
    return Status();
  }

 private:
  models::PackOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakePackCommand() { return std::make_unique<PackCommand>(); }

}  // namespace berth::tools
