#include "runtime/report/html.h"

#include <nlohmann/json.hpp>

namespace berth::report {
namespace {

std::string Row(const std::vector<std::string>& cells, const char* tag) {
  std::string text = "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    const char* name = i == 0 ? "th" : tag;
    const char* scope = i == 0 && std::string_view(tag) == "td" ? " scope=\"row\""
                        : std::string_view(tag) == "th"         ? " scope=\"col\""
                                                                : "";
    text += std::string("<") + name + scope + ">" + EscapeHtml(cells[i]) + "</" + name + ">";
  }
  return text + "</tr>\n";
}

// Paths and names of files may be any bytes; a page is UTF-8. What is none becomes U+FFFD.
std::string ValidUtf8(std::string_view text) {
  using nlohmann::json;
  const std::string quoted =
      json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(quoted).get<std::string>();
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : ValidUtf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += (c >= 0 && c < ' ') || c == 0x7f ? ' ' : c;
    }
  }
  return escaped;
}

std::string ScriptJson(const nlohmann::json& json) {
  std::string escaped;
  // Names out of a file may be no UTF-8: replaced, not thrown about.
  for (const char c : json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    // These stand in strings only, where an escape means the same.
    if (c == '<' || c == '>' || c == '&') {
      escaped += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Base64(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = bytes.size() - i;
    const uint32_t group = static_cast<uint32_t>(bytes[i]) << 16 |
                           (left > 1 ? static_cast<uint32_t>(bytes[i + 1]) << 8 : 0) |
                           (left > 2 ? static_cast<uint32_t>(bytes[i + 2]) : 0);
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += left > 1 ? kDigits[group >> 6 & 63] : '=';
    text += left > 2 ? kDigits[group & 63] : '=';
  }
  return text;
}

HtmlTable::HtmlTable(std::string caption, std::vector<std::string> titles) {
  text_ = "<div class=\"scroll\"><table>\n<caption>" + EscapeHtml(caption) + "</caption>\n<thead>" +
          Row(titles, "th") + "</thead>\n<tbody>\n";
}

void HtmlTable::AddRow(const std::vector<std::string>& cells) { text_ += Row(cells, "td"); }

std::string HtmlTable::ToString() const { return text_ + "</tbody>\n</table></div>\n"; }

}  // namespace berth::report
