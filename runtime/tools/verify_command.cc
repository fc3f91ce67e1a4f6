// berth verify: checksums of a pack or of a model with a sidecar, or identity with another file.
#include <cstdio>

#include "runtime/base/format.h"
#include "runtime/pack/verify.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/options.h"
#include "runtime/tools/progress.h"

namespace berth::tools {
namespace {

class VerifyCommand final : public Command {
 public:
  std::string name() const override { return "verify"; }
  std::string summary() const override {
    return "Check every unit against its checksum, or against the model it was packed from";
  }

  void AddOptions(CLI::App* app) override {
    AddModel(app, &options_.model);
    AddConventions(app, &options_.conventions);
    CLI::Option* source =
        app->add_option("--source", options_.source, "Compare every byte with this model");
    CLI::Option* write = app->add_flag("--write", options_.write,
                                       "Write MODEL.berth-sums: checksums for a plain model")
                             ->excludes(source);
    app->add_option("--threads", options_.threads, "Threads that hash")->check(CLI::Range(1, 256));
    app->add_flag("--force", options_.replace, "Replace existing checksums")->needs(write);
  }

  Status Run() override {
    ProgressBar bar;
    BERTH_ASSIGN_OR_RETURN(const models::VerifyReport report, models::VerifyModel(options_, &bar));
    bar.End();
    for (const std::string& finding : report.findings) std::printf("%s\n", finding.c_str());
    if (report.bad_units > report.findings.size()) {
      std::printf("... and %s more\n",
                  FormatCount(report.bad_units - report.findings.size()).c_str());
    }
    if (report.bad_units > 0) {
      return DataLossError(FormatCount(report.bad_units) + " of " + FormatCount(report.units) +
                           " units are wrong; the first: " + report.findings.front());
    }
    std::string how = report.written.empty() ? "" : "checksums written to " + report.written;
    if (report.written.empty() && report.checksums) how = "checksums fit";
    if (report.compared)
      how += std::string(how.empty() ? "" : ", ") + "every byte as in the source";
    std::printf("%s: %s units, %s: %s\n", options_.model.c_str(), FormatCount(report.units).c_str(),
                FormatBytes(report.bytes).c_str(), how.c_str());
    return Status();
  }

 private:
  models::VerifyOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace berth::tools
