// berth make-model: writes a GGUF of a wanted geometry.
#include <cstdio>

#include "runtime/base/format.h"
#include "runtime/pack/make_model.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/options.h"
#include "runtime/tools/progress.h"

namespace berth::tools {
namespace {

class MakeModelCommand final : public Command {
 public:
  std::string name() const override { return "make-model"; }
  std::string summary() const override {
    return "Write a GGUF of a wanted geometry, with valid blocks of any type";
  }

  void AddOptions(CLI::App* app) override {
    app->add_option("OUT", options_.output, "The file to write")->required();
    app->add_option("--arch", options_.architecture, "general.architecture")->capture_default_str();
    AddConventions(app, &options_.conventions);
    app->add_option("--layers", options_.layers, "MoE layers")->required();
    app->add_option("--dense-layers", options_.dense_layers, "Dense layers before them");
    app->add_option("--experts", options_.experts, "Experts per layer")->required();
    app->add_option("--top-k", options_.top_k, "Experts a row is routed to")->required();
    app->add_option("--hidden", options_.hidden, "Width of the model")->required();
    app->add_option("--ffn", options_.ffn, "Width of an expert")->required();
    app->add_option("--types", options_.types,
                    "gate/up+down or gate+up+down, like iq3_s+iq4_nl; several, separated by "
                    "commas, share the layers in order, or name them: 0-3:q4_k+q6_k,4:q8_0+q8_0")
        ->capture_default_str();
    app->add_option("--split", options_.files, "Number of shards")->capture_default_str();
    app->add_option("--alignment", options_.alignment, "general.alignment")->capture_default_str();
    app->add_option("--version", options_.version, "GGUF version: 2 or 3")->capture_default_str();
    AddWhole(app, "--seed", &options_.seed, "Every byte follows from it");
    app->add_option("--threads", options_.threads, "Threads; the bytes do not depend on them")
        ->check(CLI::Range(1, 256));
    app->add_flag("--fused", options_.fused, "Gate and up in one tensor");
    app->add_flag("--biases", options_.biases, "Biases beside every expert tensor");
    app->add_flag("--scales", options_.scales, "Scales beside every expert tensor");
    app->add_flag("--shared", options_.shared, "Tensors that are not experts', as real files have");
    app->add_flag("--force", options_.replace, "Replace an existing file");
  }

  Status Run() override {
    ProgressBar bar;
    BERTH_ASSIGN_OR_RETURN(const models::MakeModelReport report, models::MakeModel(options_, &bar));
    bar.End();
    std::printf("%s: %s tensors, %s%s\n", report.paths.front().c_str(),
                FormatCount(report.tensors).c_str(), FormatBytes(report.bytes).c_str(),
                report.paths.size() == 1
                    ? ""
                    : (" in " + std::to_string(report.paths.size()) + " files").c_str());
    return Status();
  }

 private:
  models::MakeModelOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeMakeModelCommand() { return std::make_unique<MakeModelCommand>(); }

}  // namespace berth::tools
