#include "runtime/tools/probe_report.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/format.h"
#include "runtime/tools/table.h"

namespace berth::tools {
namespace {

using kernels::KernelKind;
using nlohmann::json;
using probe::ProbeCell;
using probe::ProbeLayer;
using probe::ProbeReport;

std::string Micros(double seconds) { return absl::StrFormat("%.1f", seconds * 1e6); }
std::string Rate(double bytes_per_s) {
  return FormatBytes(static_cast<uint64_t>(bytes_per_s)) + "/s";
}

double CellRate(const ProbeReport& report, const ProbeCell& cell) {
  return cell.units * static_cast<double>(report.layers[cell.layer].spec.unit_bytes) /
         cell.variants[cell.chosen].seconds;
}

// The fastest of a kind; empty: there is none.
std::string OfKind(const ProbeCell& cell, KernelKind kind) {
  const ProbeCell::Variant* best = nullptr;
  for (const ProbeCell::Variant& variant : cell.variants) {
    if (variant.kernel.kind != kind || !variant.same_bits) continue;
    if (best == nullptr || variant.seconds < best->seconds) best = &variant;
  }
  return best == nullptr ? "" : Micros(best->seconds);
}

// Kinds that a layer's cells have, each a column.
std::vector<std::pair<KernelKind, std::string>> KindsOf(const ProbeReport& report, size_t layer) {
  std::set<KernelKind> there;
  for (const ProbeCell& cell : report.cells) {
    if (cell.layer != layer) continue;
    for (const ProbeCell::Variant& variant : cell.variants) there.insert(variant.kernel.kind);
  }
  std::vector<std::pair<KernelKind, std::string>> kinds;
  for (const KernelKind kind : there) {
    std::string name = kernels::KernelChoice{kind}.ToString();
    name = kind == KernelKind::kAuto ? "call" : name.substr(0, name.find(':'));
    kinds.emplace_back(kind, name + " (us)");
  }
  return kinds;
}

std::string Heading(const ProbeLayer& layer) {
  const std::string like =
      layer.layers == 1 ? "" : ", " + std::to_string(layer.layers) + " layers of the model";
  return absl::StrFormat("%s, hidden %u, FFN %u, top-%u of %u%s:\n", layer.types, layer.spec.hidden,
                         layer.spec.ffn, layer.top_k, layer.spec.experts, like);
}

std::string LayerTable(const ProbeReport& report, size_t layer) {
  const auto kinds = KindsOf(report, layer);
  const bool chooses = report.measured.card.has_value();
  std::vector<Column> columns = {{"rows"}, {"units"}};
  for (const auto& [kind, name] : kinds) columns.push_back({name});
  if (chooses) {
    columns.push_back({"chosen", Align::kLeft});
    columns.push_back({"gain (%)"});
  }
  columns.push_back({"rate"});
  Table table(std::move(columns));
  for (const ProbeCell& cell : report.cells) {
    if (cell.layer != layer) continue;
    std::vector<std::string> row = {std::to_string(cell.rows), absl::StrFormat("%.1f", cell.units)};
    for (const auto& [kind, name] : kinds) row.push_back(OfKind(cell, kind));
    if (chooses) {
      const ProbeCell::Variant& chosen = cell.variants[cell.chosen];
      row.push_back(chosen.kernel.ToString());
      // Over what runs unasked.
      row.push_back(absl::StrFormat("%.1f", 100 * (cell.variants[0].seconds / chosen.seconds - 1)));
    }
    row.push_back(Rate(CellRate(report, cell)));
    table.AddRow(std::move(row));
  }
  return Heading(report.layers[layer]) + table.ToString() + "\n";
}

void AddLink(const LinkProfile& link, Facts* facts) {
  std::string sizes;
  for (size_t i = 0; i < link.rates.x.size(); ++i) {
    sizes += (i == 0 ? "" : ", ") + FormatBytes(static_cast<uint64_t>(link.rates.x[i])) + " " +
             Rate(link.rates.value[i]);
  }
  facts->Add("copies to the card", sizes);
  facts->Add("copies of units",
             "by a kernel " + Rate(link.kernel_bytes_per_s) + "; the faster: " + link.copy_path);
  facts->Add("copies", "to the host " + Rate(link.to_host_bytes_per_s) + ", both ways at once " +
                           Rate(link.both_bytes_per_s) + "; handed over in " +
                           Micros(*link.issue_s) + " us, known to be over " +
                           Micros(*link.latency_s) + " us later");
}

void AddMeasured(const ProfileUpdate& measured, Facts* facts) {
  if (measured.card.has_value()) {
    const CardProfile& card = *measured.card;
    facts->Add("card", "units at " + Rate(card.bytes_per_s) + " at best, table update " +
                           Micros(*card.update_s) + " us, weighted sum of a row " +
                           Micros(*card.reduce_s) + " us");
  }
  if (measured.link.has_value()) AddLink(*measured.link, facts);
  if (measured.host.has_value()) {
    const HostProfile& host = *measured.host;
    std::string rates;
    for (size_t i = 0; i < host.compute.x.size(); ++i) {
      rates += (i == 0 ? "" : ", ") + absl::StrFormat("%.0f", host.compute.x[i]) +
               (host.compute.x[i] == 1 ? " row " : " rows ") + Rate(host.compute.value[i]);
    }
    facts->Add("expert math", "units at " + rates);
    facts->Add("memory", "read at " + Rate(host.read_bytes_per_s));
  }
}

json GridJson(const ProfileGrid& grid, const char* x, const char* y, const char* value) {
  json points = json::array();
  for (size_t j = 0; j < grid.y.size(); ++j) {
    for (size_t i = 0; i < grid.x.size(); ++i) {
      json point = {{x, grid.x[i]}, {value, grid.value[j * grid.x.size() + i]}};
      if (y != nullptr) point[y] = grid.y[j];
      points.push_back(std::move(point));
    }
  }
  return points;
}

json CellJson(const ProbeReport& report, const ProbeCell& cell) {
  const ProbeLayer& layer = report.layers[cell.layer];
  json variants = json::array();
  for (const ProbeCell::Variant& variant : cell.variants) {
    variants.push_back({{"kernel", variant.kernel.ToString()},
                        {"seconds", variant.seconds},
                        {"same_bits", variant.same_bits}});
  }
  return {{"types", layer.types},
          {"layers", layer.layers},
          {"hidden", layer.spec.hidden},
          {"ffn", layer.spec.ffn},
          {"experts", layer.spec.experts},
          {"top_k", layer.top_k},
          {"unit_bytes", layer.spec.unit_bytes},
          {"rows", cell.rows},
          {"units", cell.units},
          {"kernels", std::move(variants)},
          {"chosen", cell.variants[cell.chosen].kernel.ToString()},
          {"bytes_per_s", CellRate(report, cell)}};
}

}  // namespace

std::string ProbeTable(const ProbeReport& report, const std::string& profile) {
  Facts facts;
  facts.Add("device", report.device + ": " +
                          (report.properties.empty() ? report.machine : report.properties));
  facts.Add("exact up to", std::to_string(report.exact_rows) + " rows of a unit");
  AddMeasured(report.measured, &facts);
  for (const std::string& note : report.notes) facts.Add("note", note);
  facts.Add("profile", profile.empty() ? "not written: give --profile FILE" : profile);
  std::string text;
  for (size_t layer = 0; layer < report.layers.size(); ++layer) text += LayerTable(report, layer);
  return text + facts.ToString();
}

json ProbeJson(const ProbeReport& report, const std::string& profile) {
  json made = {{"device", report.device},   {"properties", report.properties},
               {"machine", report.machine}, {"exact_rows", report.exact_rows},
               {"notes", report.notes},     {"profile", profile},
               {"cells", json::array()}};
  for (const ProbeCell& cell : report.cells) made["cells"].push_back(CellJson(report, cell));
  const ProfileUpdate& measured = report.measured;
  if (measured.card.has_value()) {
    const CardProfile& card = *measured.card;
    made["card"] = {{"bytes_per_s", card.bytes_per_s},
                    {"update_s", *card.update_s},
                    {"reduce_s", *card.reduce_s},
                    {"unit_bytes", card.unit_bytes},
                    {"kernels", GridJson(card.kernels, "units", "rows", "seconds")}};
  }
  if (measured.link.has_value()) {
    const LinkProfile& link = *measured.link;
    made["link"] = {{"bytes_per_s", link.bytes_per_s},
                    {"to_host_bytes_per_s", link.to_host_bytes_per_s},
                    {"both_bytes_per_s", link.both_bytes_per_s},
                    {"kernel_bytes_per_s", link.kernel_bytes_per_s},
                    {"copy_path", link.copy_path},
                    {"issue_s", *link.issue_s},
                    {"latency_s", *link.latency_s},
                    {"rates", GridJson(link.rates, "bytes", nullptr, "bytes_per_s")}};
  }
  if (measured.host.has_value()) {
    made["host"] = {{"read_bytes_per_s", measured.host->read_bytes_per_s},
                    {"compute", GridJson(measured.host->compute, "rows", nullptr, "bytes_per_s")}};
  }
  return made;
}

}  // namespace berth::tools
