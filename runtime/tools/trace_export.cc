// berth trace export: the accesses of a trace in the formats of cache simulators.
#include <algorithm>
#include <array>
#include <string_view>

#include "io/file/output_file.h"
#include "runtime/base/format.h"
#include "runtime/tools/output.h"
#include "runtime/tools/trace_commands.h"
#include "runtime/tools/trace_flags.h"
#include "runtime/trace/export.h"

namespace berth::tools {
namespace {

constexpr std::array<std::string_view, 3> kFormats = {"libcachesim-csv", "oracle-general",
                                                      "access-csv"};

class TraceExportCommand final : public Command {
 public:
  std::string name() const override { return "export"; }
  std::string summary() const override {
    return "Write a trace's accesses for other programs: cache simulators, spreadsheets";
  }

  void AddOptions(CLI::App* app) override {
    AddTrace(app, &trace_);
    AddOutput(app, &output_, &options_.replace, "The file to write");
    app->add_option("--to", format_, "libcachesim-csv, oracle-general or access-csv")
        ->required()
        ->type_name("FORMAT");
    app->add_flag("--unit-bytes", options_.unit_bytes,
                  "Sizes in bytes, as the trace states them; otherwise every unit has size 1");
    app->footer(
        "An access is one entry of a row, in file order (row, layer, place in the top-k); an "
        "object is a\nunit, layer * experts + expert.\n"
        "Examples:\n"
        "  berth trace export t.safetensors --to oracle-general -o t.oracleGeneral\n"
        "  berth trace export t.safetensors --to libcachesim-csv -o t.csv\n"
        "  cachesim t.csv csv lru,sieve 333 -t \\\n"
        "      \"time-col=1,obj-id-col=2,obj-size-col=3,has-header=true,obj-id-is-num=true\"");
  }

  Status Run() override {
    const auto format = std::find(kFormats.begin(), kFormats.end(), format_);
    if (format == kFormats.end()) {
      return InvalidArgumentError("--to " + format_ + ": no such format" +
                                  DidYouMean(format_, kFormats) + "; see --help");
    }
    options_.format = static_cast<ExportFormat>(format - kFormats.begin());
    const std::string inputs[] = {trace_};
    BERTH_RETURN_IF_ERROR(io::CheckIsNoInput(output_, inputs, "the trace itself"));
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(trace_));
    RowProgress progress("export");
    options_.progress = progress.Function();
    BERTH_ASSIGN_OR_RETURN(const ExportReport report, ExportTrace(trace.get(), options_, output_));
    progress.End();
    return Print(output_ + ": " + FormatCount(report.accesses) + " accesses to " +
                 FormatCount(report.objects) + " units\n");
  }

 private:
  std::string trace_;
  std::string output_;
  std::string format_;
  ExportOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeTraceExportCommand() { return std::make_unique<TraceExportCommand>(); }

}  // namespace berth::tools
