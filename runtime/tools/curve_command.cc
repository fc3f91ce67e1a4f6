// berth curve: how often policies miss, against the size of the arena.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "io/file/output_file.h"
#include "runtime/report/page_file.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/curve_flags.h"
#include "runtime/tools/curve_report.h"
#include "runtime/tools/output.h"
#include "runtime/tools/progress.h"
#include "runtime/trace/heat_file.h"

namespace berth::tools {
namespace {

class CurveCommand final : public Command {
 public:
  std::string name() const override { return "curve"; }
  std::string summary() const override {
    return "Count the misses of every policy against the size of the arena";
  }
  void AddOptions(CLI::App* app) override { flags_.AddTo(app); }

  Status Run() override {
    BERTH_ASSIGN_OR_RETURN(curve::CurveOptions options, flags_.Options());
    const std::vector<std::string> inputs = {flags_.trace, flags_.warm};
    BERTH_ASSIGN_OR_RETURN(JsonOutput json, JsonOutput::Open(flags_.json, "", inputs));
    std::optional<report::PageFile> html;
    BERTH_RETURN_IF_ERROR(OpenPage(&html, inputs));
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(flags_.trace));
    if (!flags_.warm.empty()) {
      BERTH_ASSIGN_OR_RETURN(
          UnitHeat heat, ReadHeatFile(flags_.warm, trace->info().layers, trace->info().experts));
      options.workload.heat = std::move(heat.heat);
    }
    ProgressBar bar("passes");
    ShowProgress(&bar, &options);
    BERTH_ASSIGN_OR_RETURN(const curve::CurveReport report,
                           curve::MeasureCurve(trace.get(), options));
    bar.End();
    const CurveRun run = {flags_, options, trace->info(), report};
    if (PrintsTables(flags_.json)) BERTH_RETURN_IF_ERROR(Print(CurveTables(run)));
    if (!flags_.json.empty()) BERTH_RETURN_IF_ERROR(json.Write(CurveJson(run)));
    if (!html) return Status();
    BERTH_ASSIGN_OR_RETURN(const std::string page, CurvePage(run));
    BERTH_RETURN_IF_ERROR(html->Write(page));
    return PrintsTables(flags_.json) ? Print("page: " + flags_.html + "\n") : Status();
  }

 private:
  Status OpenPage(std::optional<report::PageFile>* html, std::vector<std::string> inputs) {
    if (flags_.html.empty()) return Status();
    if (!flags_.json.empty() && io::SamePlace(flags_.html, flags_.json)) {
      return InvalidArgumentError("--html and --json name the same file " + flags_.html);
    }
    BERTH_ASSIGN_OR_RETURN(*html, report::PageFile::Open(flags_.html, inputs, flags_.force));
    return Status();
  }

  static void ShowProgress(ProgressBar* bar, curve::CurveOptions* options) {
    options->progress = [bar, what = std::string(), shown = uint64_t{0}](
                            std::string_view now, uint64_t done, uint64_t passes) mutable {
      if (what != now || done < shown) {
        what = now;
        shown = 0;
        bar->Begin(what, passes);
      }
      bar->Add(done - shown);
      shown = done;
    };
  }

  CurveFlags flags_;
};

}  // namespace

std::unique_ptr<Command> MakeCurveCommand() { return std::make_unique<CurveCommand>(); }

}  // namespace berth::tools
