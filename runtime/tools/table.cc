#include "runtime/tools/table.h"

#include <algorithm>
#include <utility>

namespace berth::tools {
namespace {

std::string Padded(const std::string& text, size_t width, Align align) {
  const std::string pad(width - std::min(width, text.size()), ' ');
  return align == Align::kLeft ? text + pad : pad + text;
}

// No blanks at the end of a line.
void EndLine(std::string* text) {
  while (!text->empty() && text->back() == ' ') text->pop_back();
  *text += '\n';
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_[i].title.size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](const auto& cell) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += "  ";
      text += Padded(cell(i), widths[i], columns_[i].align);
    }
    EndLine(&text);
  };
  line([&](size_t i) { return columns_[i].title; });
  line([&](size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows_) {
    line([&](size_t i) { return row[i]; });
  }
  return text;
}

void Facts::Add(std::string name, std::string value) {
  facts_.emplace_back(std::move(name), std::move(value));
}

std::string Facts::ToString() const {
  size_t width = 0;
  for (const auto& [name, value] : facts_) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : facts_) {
    text += Padded(name, width, Align::kLeft) + "  " + value;
    EndLine(&text);
  }
  return text;
}

}  // namespace berth::tools
