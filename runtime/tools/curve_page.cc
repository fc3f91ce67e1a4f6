// The page of `berth curve`: what it says stands in it as HTML, charts are drawn from the data.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/report/assets.h"
#include "runtime/report/html.h"
#include "runtime/report/page.h"
#include "runtime/tools/curve_report.h"

namespace berth::tools {
namespace {

using report::EscapeHtml;

constexpr char kVersion[] = BERTH_VERSION;

std::string Section(const std::string& title, const std::string& body) {
  return "<section>\n<h2>" + EscapeHtml(title) + "</h2>\n" + body + "</section>\n";
}

std::string List(const std::vector<std::string>& lines) {
  std::string text = "<ul>\n";
  for (const std::string& line : lines) text += "<li>" + EscapeHtml(line) + "</li>\n";
  return text + "</ul>\n";
}

std::string Summary(const CurveRun& run) {
  std::string text = List(CurveSummary(run));
  for (const std::string& note : run.report.notes) {
    text += "<p class=\"note\">" + EscapeHtml(note) + "</p>\n";
  }
  return Section("In short", text);
}

std::string MissTable(const CurveRun& run) {
  const curve::CurveReport& r = run.report;
  std::vector<std::string> titles = {"misses (% of look-ups)"};
  std::vector<std::string> bytes = {"arena (bytes)"};
  for (const curve::Size& size : r.sizes) {
    titles.push_back(FormatCount(size.slots) + " slots (" + MissPercent(size.slots, r.pools.units) +
                     " %)");
    bytes.push_back(FormatBytes(r.pools.BytesOf(size.pool_slots)));
  }
  report::HtmlTable table("* misses least of those that do not know the future", titles);
  if (r.pools.knows_bytes()) table.AddRow(bytes);
  for (size_t p = 0; p < r.policies.size(); ++p) {
    std::vector<std::string> cells = {r.policies[p].spec +
                                      (r.policies[p].is_bound ? " (bound)" : "")};
    for (size_t s = 0; s < r.sizes.size(); ++s) {
      const CountResult& point = r.policies[p].points[s];
      cells.push_back(MissPercent(point.misses, point.lookups) +
                      (r.BestOnline(s) == p ? " *" : ""));
    }
    table.AddRow(cells);
  }
  return table.ToString();
}

std::string CurveSection(const CurveRun& run) {
  return Section(
      "Misses against size",
      "<div class=\"controls no-print\"><fieldset><legend>Size axis:&nbsp;</legend>\n"
      "<label><input type=\"radio\" name=\"scale\" id=\"scale-linear\" checked> linear</label>\n"
      "<label><input type=\"radio\" name=\"scale\" id=\"scale-log\"> logarithmic</label>\n"
      "</fieldset></div>\n"
      "<div class=\"controls\" id=\"curve-legend\" role=\"group\" aria-label=\"Policies\"></div>\n"
      "<div class=\"chart\"><canvas id=\"curve-chart\" role=\"img\" aria-label=\"Miss rate of each "
      "policy against the number of slots; the table below has the same figures\"></canvas></div>\n"
      "<p class=\"soft\">A point is a policy at a size. LRU is counted at every size. A bound "
      "knows "
      "the future: what lies between it and a policy is what a better guess could still gain.</p>\n"
      "<details open><summary>The figures</summary>\n" +
          MissTable(run) + "</details>\n");
}

std::string MapSection() {
  return Section(
      "What was resident",
      "<div class=\"controls\"><label>Policy and size: <select "
      "id=\"map-choice\"></select></label>\n"
      "<label class=\"no-print\"><input type=\"checkbox\" id=\"map-sort\"> sort each "
      "layer</label>\n"
      "<span>never <span class=\"scale\" role=\"img\" aria-label=\"from never to always\"></span> "
      "always</span></div>\n"
      "<div class=\"map\"><canvas id=\"map\" tabindex=\"0\" role=\"img\" aria-describedby="
      "\"map-readout\" aria-label=\"Layers by experts: how often each unit was resident; arrow "
      "keys "
      "move\"></canvas></div>\n"
      "<output id=\"map-readout\" aria-live=\"polite\"></output>\n"
      "<p class=\"soft\">Share of a layer's steps at whose beginning the unit had a slot, in steps "
      "of 1/255.</p>\n");
}

std::string LayerSection() {
  return Section(
      "Layer by layer",
      "<div class=\"controls\"><label>Size: <select id=\"layer-size\"></select></label></div>\n"
      "<div class=\"controls\" id=\"layer-legend\" role=\"group\" aria-label=\"Policies\"></div>\n"
      "<div class=\"chart low\"><canvas id=\"layer-chart\" role=\"img\" aria-label=\"Miss rate of "
      "each layer; the table below has the same figures\"></canvas></div>\n"
      "<details><summary>The figures</summary><div class=\"scroll\"><table id=\"layer-table\">"
      "</table></div></details>\n");
}

std::string ValueText(const nlohmann::json& value) {
  if (value.empty() || value == "") return "not given";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string RequestSection(const CurveRun& run, const nlohmann::json& request) {
  std::string text = "<div class=\"scroll\"><table class=\"facts\">\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    text += "<tr><th scope=\"row\">" + EscapeHtml(name) + "</th><td>" + EscapeHtml(value) +
            "</td></tr>\n";
  };
  for (const auto& [name, value] : CurveFacts(run)) add(name, value);
  if (!run.trace.source.empty()) add("source", run.trace.source);
  for (const curve::LeftOut& left : run.report.left_out) {
    add("left out", left.policy + ": " + left.reason);
  }
  for (const auto& [name, value] : request.items()) {
    if (name == "trace") continue;  // said above
    add(name, ValueText(value));
  }
  return Section("The request", text + "</table></div>\n");
}

nlohmann::json MapsJson(const curve::CurveReport& r) {
  nlohmann::json maps = nlohmann::json::array();
  for (const curve::ResidencyMap& map : r.maps) {
    maps.push_back(
        {{"policy", map.policy}, {"size", map.size}, {"shares", report::Base64(map.shares)}});
  }
  return maps;
}

}  // namespace

Result<std::string> CurvePage(const CurveRun& run) {
  nlohmann::json data = CurveJson(run);
  report::Page page;
  page.title = "Miss rate against size: " + std::filesystem::path(run.flags.trace).stem().string();
  page.body = "<header><h1>" + EscapeHtml(page.title) + "</h1>\n";
  for (const auto& [name, value] : CurveFacts(run)) {
    page.body += "<p>" + EscapeHtml(value) + "</p>\n";
  }
  page.body +=
      "</header>\n<main>\n" + Summary(run) + CurveSection(run) + MapSection() + LayerSection() +
      RequestSection(run, data["request"]) + "</main>\n" + "<footer>Made by berth " +
      EscapeHtml(kVersion) +
      ". Charts: <span id=\"chart-version\">Chart.js</span>, MIT licence; its notice stands "
      "in this file's source.</footer>\n";
  page.data.emplace_back("curve-data", std::move(data));
  page.data.emplace_back("curve-maps", MapsJson(run.report));
  page.script = report::CurveScript();
  return report::RenderPage(page);
}

}  // namespace berth::tools
