// berth trace synth: writes a synthetic trace.
#include <memory>
#include <string>

#include "runtime/base/format.h"
#include "runtime/synth/synth.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"
#include "runtime/tools/progress.h"
#include "runtime/tools/trace_commands.h"
#include "runtime/tools/trace_flags.h"
#include "runtime/trace/trace_writer.h"

namespace berth::tools {
namespace {

class TraceSynthCommand final : public Command {
 public:
  std::string name() const override { return "synth"; }
  std::string summary() const override {
    return "Write a synthetic trace, with the locality of real requests";
  }

  void AddOptions(CLI::App* app) override {
    AddOutput(app, &output_, &force_, "The trace");
    AddShape(app);
    AddTraffic(app);
    AddTaste(app);
    app->footer(
        "The defaults are a fit to published figures of a 512-expert model, 5 rows a pass\n"
        "(docs/synthetic.md). Other seeds of one --model-seed are other traffic of one model.\n"
        "Examples:\n"
        "  berth trace synth -o decode.safetensors    (then: berth curve decode.safetensors "
        "--window 5)\n"
        "  berth trace synth -o other-traffic.safetensors --seed 2 --requests 45 --passes 6987\n"
        "  berth trace synth -o small.safetensors --layers 8 --experts 64 --top-k 4 --pass-rows 1\n"
        "  berth trace synth -o prompts.safetensors --prompt-rows 2048 --prompt-pass-rows 512\n"
        "  berth trace synth -o guessed.safetensors --recall-1-ahead 0.74 --recall-2-ahead 0.64\n"
        "  berth trace synth -o control.safetensors --independent");
  }

  Status Run() override {
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<SynthTrace> synth, SynthTrace::Create(options_));
    const TraceInfo& info = synth->info();
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceWriter> writer,
                           TraceWriter::Create(output_, info, force_));
    ProgressBar bar("rows");
    bar.Begin("synth", info.rows);
    for (uint64_t row = 0; row < info.rows; ++row) {
      BERTH_RETURN_IF_ERROR(writer->Append(synth->Next()));
      bar.Add(1);
    }
    BERTH_RETURN_IF_ERROR(writer->Commit());
    bar.End();
    return Print(
        output_ + ": " + FormatCount(info.rows) + " rows of " + FormatCount(options_.requests) +
        " requests, " + std::to_string(info.layers) + " layers, top " + std::to_string(info.top_k) +
        " of " + std::to_string(info.experts) + ", seed " + std::to_string(options_.seed) +
        (options_.independent ? ", independent draws" : "") +
        (options_.pass_rows > 1 ? "; replay it with --window " + std::to_string(options_.pass_rows)
                                : std::string()) +
        "\n");
  }

 private:
  void AddReal(CLI::App* app, const std::string& flag, double* value,
               const std::string& description) {
    app->add_option(flag, *value, description)->type_name("X")->capture_default_str();
  }

  void AddShape(CLI::App* app) {
    AddWhole(app, "--layers", &options_.layers, "MoE layers");
    AddWhole(app, "--experts", &options_.experts, "Experts per layer");
    AddWhole(app, "--top-k", &options_.top_k, "Experts a row is routed to");
    AddWhole(app, "--seed", &options_.seed, "Traffic: requests, and all that they draw");
    AddWhole(app, "--model-seed", &options_.model_seed, "Model: which experts are popular");
  }

  void AddTraffic(CLI::App* app) {
    AddWhole(app, "--requests", &options_.requests, "Requests, one after the other");
    AddWhole(app, "--passes", &options_.passes, "Decode passes of all requests together");
    AddReal(app, "--short-share", &options_.short_share, "Share of the requests that are short");
    AddReal(app, "--short-length", &options_.short_length, "Length of those, of the others'");
    AddWhole(app, "--pass-rows", &options_.pass_rows,
             "Rows of a decode pass; replay with that --window");
    AddWhole(app, "--prompt-rows", &options_.prompt_rows, "Rows of prompt before each request");
    AddWhole(app, "--prompt-pass-rows", &options_.prompt_pass_rows, "... of which in one pass");
    AddWhole(app, "--streams", &options_.streams, "Streams that the requests belong to in turn");
    AddReal(app, "--recall-1-ahead", &options_.recall_1_ahead,
            "Share of the experts that routers one layer earlier name (0: no predictions)");
    AddReal(app, "--recall-2-ahead", &options_.recall_2_ahead, "... two layers earlier");
  }

  void AddTaste(CLI::App* app) {
    AddReal(app, "--scale-first", &options_.scale_first,
            "Popularity falls to 1/e over this share of the experts, in the first layer");
    AddReal(app, "--scale-last", &options_.scale_last, "... in the last layer");
    AddReal(app, "--head", &options_.head, "Logarithm by which the first expert is more popular");
    AddReal(app, "--head-ranks", &options_.head_ranks, "... fading to 1/e over these ranks");
    AddReal(app, "--sigma", &options_.sigma,
            "A request multiplies each popularity by exp(sigma x normal)");
    AddReal(app, "--sigma-least", &options_.sigma_least, "Requests differ: from this x sigma");
    AddReal(app, "--sigma-most", &options_.sigma_most, "... to this x sigma");
    AddReal(app, "--affinity", &options_.affinity,
            "Correlation of a request's taste with that of the one before");
    AddReal(app, "--drift", &options_.drift, "Deviation by which the normal wanders, a row");
    AddReal(app, "--keep", &options_.keep, "Chance that a row keeps an expert of the row before");
    app->add_flag("--independent", options_.independent,
                  "Popularity alone, each row for itself: the control that no real model is like");
  }

  std::string output_;
  bool force_ = false;
  SynthOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeTraceSynthCommand() { return std::make_unique<TraceSynthCommand>(); }

}  // namespace berth::tools
