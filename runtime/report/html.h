// Text and data inside HTML: whatever they contain, they stay text and data.
#ifndef BERTH_RUNTIME_REPORT_HTML_H_
#define BERTH_RUNTIME_REPORT_HTML_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::report {

// For text between tags and for quoted attribute values.
std::string EscapeHtml(std::string_view text);

// JSON for a <script> element: ASCII without <, > and &, so that nothing in it can end the element
// or a line of it. Equal as JSON.
std::string ScriptJson(const nlohmann::json& json);

std::string Base64(std::span<const uint8_t> bytes);

// A table with a header row; cells are escaped. The first column heads the rows, the others are
// numbers.
class HtmlTable {
 public:
  HtmlTable(std::string caption, std::vector<std::string> titles);
  void AddRow(const std::vector<std::string>& cells);
  std::string ToString() const;

 private:
  std::string text_;
};

}  // namespace berth::report

#endif  // BERTH_RUNTIME_REPORT_HTML_H_
