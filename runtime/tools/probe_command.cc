// berth probe: measures a card, chooses its kernels and writes a machine profile.
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/config/profile_update.h"
#include "runtime/probe/probe.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"
#include "runtime/tools/probe_report.h"
#include "runtime/tools/progress.h"

namespace berth::tools {
namespace {

// Every figure is one of these at least; more is memory that the card would have to have.
constexpr uint32_t kMostRows = 65536;

class ProbeCommand final : public Command {
 public:
  std::string name() const override { return "probe"; }
  std::string summary() const override {
    return "Measure a card: choose its kernels and write a machine profile";
  }

  void AddOptions(CLI::App* app) override {
    app_ = app;
    app->add_option("MODEL", options_.model, "A model, whose layers are measured");
    AddConventions(app, &options_.conventions);
    AddJson(app, &json_);
    app->add_option("--device", options_.device, "The card: cuda:0, hip:0; host: this machine")
        ->default_str("host:0");
    app->add_option("--profile", profile_,
                    "Machine profile to write; of one that is there the other entries stay");

    const char* calls = "Calls";
    AddWhole(app, "--hidden", &options_.shape.hidden, "Without MODEL: width of the model")
        ->default_str("")
        ->group(calls);
    AddWhole(app, "--ffn", &options_.shape.ffn, "... width of an expert")
        ->default_str("")
        ->group(calls);
    AddWhole(app, "--experts", &options_.shape.experts, "... experts of a layer")
        ->default_str("")
        ->group(calls);
    AddWhole(app, "--top-k", &options_.shape.top_k, "... experts a row is routed to")
        ->default_str("")
        ->group(calls);
    AddRepeatable(app, "--types", &types_,
                  "... types of weights: gate/up+down or gate+up+down, like iq3_s+iq4_nl; several, "
                  "separated by commas (default all: those that the card has more than one kernel "
                  "for)")
        ->group(calls);
    app->add_option("--rows", rows_, "Rows of a call, like 1,2,4,8 (default 1 to 512, host: to 64)")
        ->group(calls);
    AddWhole(app, "--exact-rows", &options_.exact_rows, "As of berth run", 0, 64)->group(calls);

    const char* how = "How";
    AddBytes(app, "--memory", &options_.memory_bytes, "Of the card (default: what is free)")
        ->group(how);
    AddBytes(app, "--slots", &options_.slot_bytes, "Of units on the card, at most (default 4GB)")
        ->group(how);
    AddWhole(app, "--rounds", &options_.timing.rounds, "That take kernels in turns", 1, 1000)
        ->group(how);
    app->add_flag("--no-links", no_links_, "Do not time copies")->group(how);
    AddWhole(app, "--threads", &options_.threads, "Of the host (0: all)", 0, 1024)->group(how);
    app->footer(
        "Examples:\n"
        "  berth probe model.gguf --device cuda:0 --profile machine.json\n"
        "  berth run model.gguf --trace t.safetensors --device cuda:0 --profile machine.json\n"
        "  berth probe --hidden 2560 --ffn 640 --experts 512 --top-k 10 --types "
        "iq3_s+iq4_nl,q8_0+q8_0 \\\n"
        "      --rows 1,4,16,64 --device cuda:0\n"
        "  berth probe model.gguf --device host --profile machine.json\n"
        "Kernels give the same bits whatever is chosen. Measure while nothing else runs.");
  }

  Status Run() override {
    BERTH_RETURN_IF_ERROR(TakeFlags());
    if (!profile_.empty()) {
      const std::string no_inputs[] = {std::string()};
      BERTH_RETURN_IF_ERROR(CheckOutputFile("--profile", profile_, options_.model, no_inputs));
      BERTH_RETURN_IF_ERROR(CheckProfileUpdate(profile_));
    }
    const std::string others[] = {profile_};
    BERTH_ASSIGN_OR_RETURN(JsonOutput json, JsonOutput::Open(json_, options_.model, others));
    ProgressBar bar("calls");
    uint64_t shown = 0;
    options_.progress = [&](uint64_t done, uint64_t of) {
      if (done == 0) bar.Begin("probe", of);
      bar.Add(done - shown);
      shown = done;
    };
    BERTH_ASSIGN_OR_RETURN(const probe::ProbeReport report, probe::RunProbe(options_));
    bar.End();
    if (!profile_.empty()) {
      BERTH_RETURN_IF_ERROR(UpdateMachineProfile(profile_, report.measured));
    }
    if (PrintsTables(json_)) BERTH_RETURN_IF_ERROR(Print(ProbeTable(report, profile_)));
    if (json_.empty()) return Status();
    return json.Write(ProbeJson(report, profile_));
  }

 private:
  Status TakeFlags() {
    options_.links = !no_links_;
    const bool shaped = app_->count("--hidden") + app_->count("--ffn") + app_->count("--experts") +
                            app_->count("--top-k") + app_->count("--types") >
                        0;
    if (!options_.model.empty() && shaped) {
      return InvalidArgumentError(
          "--hidden, --ffn, --experts, --top-k and --types say what MODEL says already");
    }
    if (!types_.empty()) options_.types.clear();
    for (const std::string& list : types_) {
      std::istringstream entries(list);
      for (std::string entry; std::getline(entries, entry, ',');) options_.types.push_back(entry);
    }
    if (!rows_.empty()) {
      BERTH_ASSIGN_OR_RETURN(options_.rows, ParseWholeList("--rows", rows_));
    }
    for (const uint32_t rows : options_.rows) {
      if (rows >= 1 && rows <= kMostRows) continue;
      return InvalidArgumentError("--rows: calls of 1 to " + std::to_string(kMostRows) +
                                  " rows, not " + std::to_string(rows));
    }
    return Status();
  }

  CLI::App* app_ = nullptr;
  probe::ProbeOptions options_ = {.device = "host:0"};
  std::string profile_, json_, rows_;
  std::vector<std::string> types_;
  bool no_links_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeProbeCommand() { return std::make_unique<ProbeCommand>(); }

}  // namespace berth::tools
