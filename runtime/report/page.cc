#include "runtime/report/page.h"

#include <nlohmann/json.hpp>

#include "runtime/report/assets.h"
#include "runtime/report/html.h"

namespace berth::report {
namespace {

// No source but the page itself: even a script that wanted to could not load or send anything.
constexpr char kHead[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n";

std::string Element(const char* tag, std::string_view content) {
  return std::string("<") + tag + ">\n" + std::string(content) + "\n</" + tag + ">\n";
}

}  // namespace

Status CheckPagesWork() {
  if (!ChartScript().empty()) return Status();
  return UnimplementedError(
      "this berth was built without Chart.js: install libjs-chart.js and build again, or leave "
      "--html out");
}

Result<std::string> RenderPage(const Page& page) {
  BERTH_RETURN_IF_ERROR(CheckPagesWork());
  std::string html = kHead + ("<title>" + EscapeHtml(page.title)) + "</title>\n";
  html += Element("style", PageStyle());
  html += "</head>\n<body>\n" + page.body;
  html +=
      "<noscript><p class=\"note\">The charts need JavaScript; the tables do not.</p>"
      "</noscript>\n";
  for (const auto& [id, json] : page.data) {
    html += "<script type=\"application/json\" id=\"" + EscapeHtml(id) + "\">" + ScriptJson(json) +
            "</script>\n";
  }
  html += "<!--\n" + std::string(ChartLicence()) + "-->\n";
  for (const std::string_view script : {ChartScript(), PageScript(), page.script}) {
    html += Element("script", script);
  }
  return html + "</body>\n</html>\n";
}

}  // namespace berth::report
