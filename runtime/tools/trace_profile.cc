// berth trace profile: counts per unit as a heat file.
#include "io/file/output_file.h"
#include "runtime/base/format.h"
#include "runtime/tools/output.h"
#include "runtime/tools/trace_commands.h"
#include "runtime/tools/trace_flags.h"
#include "runtime/trace/heat_file.h"
#include "runtime/trace/profile.h"

namespace berth::tools {
namespace {

class TraceProfileCommand final : public Command {
 public:
  std::string name() const override { return "profile"; }
  std::string summary() const override {
    return "Count how often each unit is used: a heat file for warm starts and the static policy";
  }

  void AddOptions(CLI::App* app) override {
    AddTrace(app, &trace_);
    AddOutput(app, &output_, &replace_, "The heat file (safetensors, moe-expert-heat/1)");
    app->add_option("--requests", requests_, "Requests to count, from 0: 0-9,12")
        ->type_name("LIST");
    app->footer(
        "Examples:\n"
        "  berth trace profile t.safetensors -o heat.safetensors --requests 0-9");
  }

  Status Run() override {
    const std::string inputs[] = {trace_};
    BERTH_RETURN_IF_ERROR(io::CheckIsNoInput(output_, inputs, "the trace itself"));
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(trace_));
    const TraceInfo& info = trace->info();
    BERTH_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> requests,
        ParseSelection("--requests", "request", requests_, info.request_rows.size()));
    RowProgress progress("profile");
    BERTH_ASSIGN_OR_RETURN(UnitHeat heat, CountHeat(trace.get(), requests, progress.Function()));
    progress.End();
    heat.source = "counted over " + (requests_.empty() ? "all requests" : "requests " + requests_) +
                  " of " + (info.model.empty() ? "a trace" : info.model);
    BERTH_RETURN_IF_ERROR(WriteHeatFile(output_, heat, replace_));
    return Print(output_ + ": " + FormatCount(heat.known) + " of " + FormatCount(heat.heat.size()) +
                 " units used in " + FormatCount(requests.size()) + " requests\n");
  }

 private:
  std::string trace_;
  std::string output_;
  std::string requests_;
  bool replace_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTraceProfileCommand() {
  return std::make_unique<TraceProfileCommand>();
}

}  // namespace berth::tools
