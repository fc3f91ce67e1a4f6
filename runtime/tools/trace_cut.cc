// berth trace cut: a piece of a trace.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "runtime/base/format.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"
#include "runtime/tools/trace_commands.h"
#include "runtime/tools/trace_flags.h"
#include "runtime/trace/cut.h"
#include "runtime/trace/trace.h"

namespace berth::tools {
namespace {

class TraceCutCommand final : public Command {
 public:
  std::string name() const override { return "cut"; }
  std::string summary() const override {
    return "Write a piece of a trace: layers, requests, rows";
  }

  void AddOptions(CLI::App* app) override {
    AddTrace(app, &trace_);
    AddOutput(app, &output_, &cut_.replace, "The piece");
    app->add_option("--layers", layers_, "One range of layers, in trace order from 0: 0-7")
        ->type_name("RANGE");
    app->add_option("--requests", requests_, "Requests to keep, from 0, in this order: 0-9,12")
        ->type_name("LIST");
    AddWhole(app, "--first-row", &first_row_, "First row of each request that is kept");
    AddWhole(app, "--rows", &rows_, "Rows of each request that are kept at most (0: all)");
    app->add_flag("--predictions", cut_.predictions, "Keep what early routers said");
    app->add_flag("!--no-weights", cut_.router_weights, "Leave the router weights out");
    app->footer(
        "Examples:\n"
        "  berth trace cut t.safetensors -o small.safetensors --layers 0-7 --requests 0-3\n"
        "  berth trace cut t.safetensors -o late.safetensors --first-row 100 --rows 50");
  }

  Status Run() override {
    uint64_t rows = 0;
    {
      BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(trace_));
      BERTH_RETURN_IF_ERROR(Plan(trace->info()));
    }
    for (const TracePart& part : cut_.parts) rows += part.rows;
    BERTH_RETURN_IF_ERROR(CutTrace(trace_, cut_, output_));
    return Print(output_ + ": " + FormatCount(rows) + " rows of " + FormatCount(cut_.parts.size()) +
                 " requests, " + std::to_string(cut_.end_layer - cut_.first_layer) + " layers\n");
  }

 private:
  Status Plan(const TraceInfo& info) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<uint32_t> layers,
                           ParseSelection("--layers", "layer", layers_, info.layers));
    if (layers.back() - layers.front() + 1 != layers.size()) {
      return InvalidArgumentError("--layers " + layers_ + ": expected one range, as in 0-7");
    }
    cut_.first_layer = layers.front();
    cut_.end_layer = layers.back() + 1;
    BERTH_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> requests,
        ParseSelection("--requests", "request", requests_, info.request_rows.size()));
    for (const uint32_t request : requests) {
      const uint32_t all = info.request_rows[request];
      // Shorter requests fall out where whole ones were not asked for by name.
      if (first_row_ >= all && requests_.empty()) continue;
      if (first_row_ >= all) {
        return OutOfRangeError("--first-row " + std::to_string(first_row_) + ": request " +
                               std::to_string(request) + " has " + std::to_string(all) + " rows");
      }
      const uint32_t left = all - first_row_;
      cut_.parts.push_back({request, first_row_, rows_ == 0 ? left : std::min(rows_, left)});
    }
    if (cut_.parts.empty()) {
      return OutOfRangeError("--first-row " + std::to_string(first_row_) +
                             ": no request has as many rows");
    }
    return Status();
  }

  std::string trace_;
  std::string output_;
  std::string layers_;
  std::string requests_;
  uint32_t first_row_ = 0;
  uint32_t rows_ = 0;
  TraceCut cut_;
};

}  // namespace

std::unique_ptr<Command> MakeTraceCutCommand() { return std::make_unique<TraceCutCommand>(); }

}  // namespace berth::tools
