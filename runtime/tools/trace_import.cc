// berth trace import: routing that other programs recorded.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "io/csv/numbers.h"
#include "runtime/base/format.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"
#include "runtime/tools/table.h"
#include "runtime/tools/trace_commands.h"
#include "runtime/tools/trace_flags.h"
#include "runtime/trace/import/import.h"
#include "runtime/trace/metadata.h"

namespace berth::tools {
namespace {

std::string Percent(uint64_t part, uint64_t of) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.2f %%",
                of == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(of));
  return text.data();
}

std::string Share(uint64_t part, uint64_t of) {
  return Percent(part, of) + " (" + FormatCount(part) + " of " + FormatCount(of) + ")";
}

class TraceImportCommand final : public Command {
 public:
  std::string name() const override { return "import"; }
  std::string summary() const override {
    return "Make a trace of routing that an engine recorded: .npy, CSV, route CSV, int32 records";
  }

  void AddOptions(CLI::App* app) override {
    app->add_option("FILES", files_, "What to import; several files are several requests")
        ->required();
    AddOutput(app, &output_, &options_.replace, "The trace to write");
    app->add_option("--format", format_, "npy, access-csv, route-csv or dump; else by content")
        ->type_name("FORMAT");
    AddWhole(app, "--experts", &options_.experts,
             "Experts a layer (0: from the file, or the largest id and one)", 0,
             trace::kMaxExperts);
    AddWhole(app, "--top-k", &options_.top_k, "Experts a row and layer (0: from the file)", 0,
             trace::kMaxTopK);
    app->add_option("--none", none_, "An id that means nobody, besides -1")->type_name("ID");
    app->add_option("--record", options_.record,
                    "Fields of a dump's record: request, row, layer, ids, skip")
        ->capture_default_str();
    app->add_option("--model", options_.model, "Name of the model, for the trace");
    app->add_option("--source", options_.source, "Where the routing comes from, for the trace");
    app->footer(
        "Examples:\n"
        "  berth trace import a.npy b.npy -o t.safetensors --experts 128\n"
        "  berth trace import accesses.csv -o t.safetensors --top-k 8\n"
        "  berth trace import gemma.route.csv -o gemma.safetensors\n"
        "  berth trace import ids.bin -o t.safetensors --format dump --record row,layer,ids "
        "--top-k 8");
  }

  Status Run() override {
    BERTH_RETURN_IF_ERROR(ReadFlags());
    RowProgress progress("import");
    options_.progress = progress.Function();
    BERTH_ASSIGN_OR_RETURN(const ImportReport report, ImportTrace(files_, options_, output_));
    progress.End();
    return Print(Text(report));
  }

 private:
  Status ReadFlags() {
    if (!none_.empty()) {
      int64_t none = 0;
      if (!io::ParseNumber(none_, &none)) {
        return InvalidArgumentError("--none " + none_ + ": expected a whole number");
      }
      options_.none = none;
    }
    if (format_.empty()) return Status();
    std::vector<std::string_view> names;
    for (const ImportFormat format : {ImportFormat::kNpy, ImportFormat::kAccessCsv,
                                      ImportFormat::kRouteCsv, ImportFormat::kDump}) {
      names.push_back(ImportFormatName(format));
      if (names.back() == format_) options_.format = format;
    }
    if (options_.format) return Status();
    return InvalidArgumentError("--format " + format_ + ": no such format" +
                                DidYouMean(format_, names) + "; see --help");
  }

  std::string Text(const ImportReport& report) const {
    const TraceInfo& info = report.info;
    Facts facts;
    facts.Add("trace", output_ + ", from " + std::string(ImportFormatName(report.format)));
    facts.Add("rows", FormatCount(info.rows) + " in " + FormatCount(info.request_rows.size()) +
                          " requests");
    facts.Add("layers", std::to_string(info.layers));
    facts.Add("experts", FormatCount(info.experts) + ", top-" + std::to_string(info.top_k));
    if (!info.layer_unit_bytes.empty()) {
      uint64_t bytes = 0;
      for (const uint64_t each : info.layer_unit_bytes) bytes += each * info.experts;
      facts.Add("expert bytes", FormatBytes(bytes) + ", stated by the file");
    }
    if (report.device) {
      const DeviceRecord& device = *report.device;
      facts.Add("device hits", Share(device.distinct_hit, device.distinct) +
                                   " of each pass's distinct units, prompt included");
      facts.Add("  in decode", Share(device.decode_distinct_hit, device.decode_distinct));
      facts.Add("  by entry", Share(device.entries_hit, device.entries) +
                                  ": every row of a prompt counts its miss again");
      facts.Add("device read", FormatBytes(device.read_bytes));
    }
    return facts.ToString();
  }

  std::vector<std::string> files_;
  std::string output_;
  std::string format_;
  std::string none_;
  ImportOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeTraceImportCommand() { return std::make_unique<TraceImportCommand>(); }

}  // namespace berth::tools
