// berth trace info: what a trace is like.
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/format.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"
#include "runtime/tools/table.h"
#include "runtime/tools/trace_commands.h"
#include "runtime/tools/trace_flags.h"
#include "runtime/trace/stats/stats.h"

namespace berth::tools {
namespace {

using nlohmann::json;

[[gnu::format(printf, 1, 2)]] std::string Text(const char* format, ...) {
  std::array<char, 256> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string Percent(double part, double of) {
  return Text("%.1f %%", of == 0 ? 0.0 : 100 * part / of);
}

json SpreadJson(const Spread& spread) {
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}};
}
json QuartilesJson(const Quartiles& quartiles) {
  return {{"p25", quartiles.lower}, {"p50", quartiles.median}, {"p75", quartiles.upper}};
}

json StatsJson(const TraceStats& stats) {
  const TraceInfo& info = stats.info;
  json made = {{"model", info.model},
               {"source", info.source},
               {"bytes", stats.file_bytes},
               {"rows", info.rows},
               {"requests", info.request_rows.size()},
               {"passes", stats.passes},
               {"prompt_rows", stats.prompt_rows},
               {"decode_rows", stats.decode_rows},
               {"layers", info.layers},
               {"experts", info.experts},
               {"top_k", info.top_k},
               {"router_weights", info.has_router_weights},
               {"predictions_ahead", info.predictions_ahead},
               {"lookups", stats.lookups},
               {"units_used", stats.units_used},
               {"units_used_once", stats.units_used_once},
               {"first_touches", stats.first_touches}};
  if (!info.layer_unit_bytes.empty()) made["layer_unit_bytes"] = info.layer_unit_bytes;
  made["skew"] = {{"hottest_10_percent", SpreadJson(stats.hottest_share[0])},
                  {"hottest_25_percent", SpreadJson(stats.hottest_share[1])},
                  {"hottest_50_percent", SpreadJson(stats.hottest_share[2])},
                  {"gini", SpreadJson(stats.gini)}};
  made["entropy"] = {{"bits", SpreadJson(stats.entropy_bits)},
                     {"normalized", SpreadJson(stats.entropy_normalized)}};
  made["reuse"] = {{"reuses", stats.reuses},
                   {"units", QuartilesJson(stats.reuse_units)},
                   {"units_of_layer", QuartilesJson(stats.reuse_layer_units)},
                   {"passes", QuartilesJson(stats.reuse_passes)}};
  made["repeat_probability"] = stats.repeat_probability;
  made["working_set"] = {{"experts_per_layer_median", stats.working_set_experts_median},
                         {"experts_per_layer_max", stats.working_set_experts_max},
                         {"units_median", stats.working_set_units_median},
                         {"units_max", stats.working_set_units_max}};
  made["union_rows"] = stats.rows_union;
  made["union_streams"] = stats.streams_union;
  for (uint32_t ahead = 1; ahead <= info.predictions_ahead; ++ahead) {
    made["recall"]["ahead_" + std::to_string(ahead)] = stats.recall[ahead - 1];
  }
  return made;
}

std::string Shape(const TraceStats& stats) {
  const TraceInfo& info = stats.info;
  const auto lookups = static_cast<double>(stats.lookups);
  Facts facts;
  if (!info.model.empty()) facts.Add("model", Printable(info.model));
  facts.Add("file", FormatBytes(stats.file_bytes));
  facts.Add("shape", std::to_string(info.layers) + " layers x " + FormatCount(info.experts) +
                         " experts, top-" + std::to_string(info.top_k));
  if (!info.layer_unit_bytes.empty()) {
    uint64_t bytes = 0;
    for (const uint64_t each : info.layer_unit_bytes) bytes += each * info.experts;
    facts.Add("expert bytes", FormatBytes(bytes));
  }
  facts.Add("rows", FormatCount(info.rows) + " of " + FormatCount(info.request_rows.size()) +
                        " requests, in " + FormatCount(stats.passes) + " passes");
  if (stats.prompt_rows > 0) {
    facts.Add("  prompt, decode", FormatCount(stats.prompt_rows) + ", " +
                                      FormatCount(stats.decode_rows) + " (passes of at most " +
                                      FormatCount(stats.longest_pass_rows) + " rows)");
  }
  facts.Add("look-ups", FormatCount(stats.lookups));
  facts.Add("units used", FormatCount(stats.units_used) + " of " +
                              FormatCount(uint64_t{info.layers} * info.experts) + "; used once " +
                              Percent(static_cast<double>(stats.units_used_once),
                                      static_cast<double>(stats.units_used)));
  facts.Add("first touches", Percent(static_cast<double>(stats.first_touches), lookups) +
                                 " of look-ups are their request's first of the unit");
  facts.Add("repeats", Text("%.3f", stats.repeat_probability) +
                           " = P(routed in a row | routed in the row before)");
  for (uint32_t ahead = 1; ahead <= info.predictions_ahead; ++ahead) {
    facts.Add("recall, " + std::to_string(ahead) + " ahead",
              Text("%.3f", stats.recall[ahead - 1]) + " of routed experts were predicted");
  }
  facts.Add("working set",
            Text("%.0f experts of a layer in a request (median; at most %u), %.0f units (%s)",
                 stats.working_set_experts_median, stats.working_set_experts_max,
                 stats.working_set_units_median,
                 ("at most " + FormatCount(stats.working_set_units_max)).c_str()));
  return facts.ToString();
}

std::string Tables(const TraceStats& stats) {
  Table layers({{"of a layer", Align::kLeft}, {"min"}, {"median"}, {"max"}});
  const auto spread = [&](const std::string& name, const Spread& value, double scale,
                          const char* format) {
    const auto cell = [&](double each) {
      std::array<char, 32> text;
      std::snprintf(text.data(), text.size(), format, each * scale);
      return std::string(text.data());
    };
    layers.AddRow({name, cell(value.min), cell(value.median), cell(value.max)});
  };
  spread("look-ups of the hottest 10 % (%)", stats.hottest_share[0], 100, "%.1f");
  spread("look-ups of the hottest 25 % (%)", stats.hottest_share[1], 100, "%.1f");
  spread("look-ups of the hottest 50 % (%)", stats.hottest_share[2], 100, "%.1f");
  spread("Gini", stats.gini, 1, "%.3f");
  spread("entropy (bits)", stats.entropy_bits, 1, "%.2f");
  spread("entropy / log2(experts)", stats.entropy_normalized, 1, "%.3f");

  Table reuse({{"reuse distance", Align::kLeft}, {"25 %"}, {"median"}, {"75 %"}});
  const auto quartiles = [&](const std::string& name, const Quartiles& value) {
    reuse.AddRow(
        {name, Text("%.0f", value.lower), Text("%.0f", value.median), Text("%.0f", value.upper)});
  };
  quartiles("distinct units in between", stats.reuse_units);
  quartiles("  of the same layer", stats.reuse_layer_units);
  quartiles("passes", stats.reuse_passes);

  std::vector<Column> columns = {{"distinct experts of a layer", Align::kLeft}};
  for (uint32_t i = 1; i <= TraceStats::kMaxUnion; ++i) columns.push_back({std::to_string(i)});
  Table unions(columns);
  const auto row = [&](const std::string& name,
                       const std::array<double, TraceStats::kMaxUnion>& values) {
    std::vector<std::string> cells = {name};
    for (const double value : values) cells.push_back(value > 0 ? Text("%.1f", value) : "-");
    unions.AddRow(std::move(cells));
  };
  row("rows that follow each other", stats.rows_union);
  row("requests side by side", stats.streams_union);
  return layers.ToString() + "\n" + reuse.ToString() + "\n" + unions.ToString();
}

class TraceInfoCommand final : public Command {
 public:
  std::string name() const override { return "info"; }
  std::string summary() const override {
    return "Show what a trace is like: skew, reuse, working sets, unions, predictions";
  }

  void AddOptions(CLI::App* app) override {
    AddTrace(app, &trace_);
    AddJson(app, &json_);
    app->footer(
        "Examples:\n"
        "  berth trace info t.safetensors\n"
        "  berth trace info t.safetensors --json - | jq .skew");
  }

  Status Run() override {
    const std::string inputs[] = {trace_};
    BERTH_ASSIGN_OR_RETURN(JsonOutput output, JsonOutput::Open(json_, "", inputs));
    RowProgress progress("read");
    BERTH_ASSIGN_OR_RETURN(const TraceStats stats, AnalyzeTrace(trace_, progress.Function()));
    progress.End();
    if (PrintsTables(json_)) BERTH_RETURN_IF_ERROR(Print(Shape(stats) + "\n" + Tables(stats)));
    if (json_.empty()) return Status();
    return output.Write(StatsJson(stats));
  }

 private:
  std::string trace_;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeTraceInfoCommand() { return std::make_unique<TraceInfoCommand>(); }

}  // namespace berth::tools
