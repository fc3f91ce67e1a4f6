// A page: one HTML file that opens offline, with data, charts and nothing to load. A policy in the
// page itself forbids every connection.
#ifndef BERTH_RUNTIME_REPORT_PAGE_H_
#define BERTH_RUNTIME_REPORT_PAGE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/status.h"

namespace berth::report {

struct Page {
  std::string title;
  std::string body;  // HTML: what comes from elsewhere is escaped by then
  // What scripts read with berth.json(id), each in an element of that id.
  std::vector<std::pair<std::string, nlohmann::json>> data;
  std::string_view script;  // of this kind of page; runs after Chart.js and the shared script
};

// Unimplemented in a build without Chart.js, with what to install.
Status CheckPagesWork();
Result<std::string> RenderPage(const Page& page);

}  // namespace berth::report

#endif  // BERTH_RUNTIME_REPORT_PAGE_H_
