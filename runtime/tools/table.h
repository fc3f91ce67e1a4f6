// Tables that line up on a terminal.
#ifndef BERTH_RUNTIME_TOOLS_TABLE_H_
#define BERTH_RUNTIME_TOOLS_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace berth::tools {

// A part of a whole, from 0 to 1; 0 of nothing.
inline double Rate(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

enum class Align { kLeft, kRight };

struct Column {
  std::string title;  // with its unit: "unit (bytes)"
  Align align = Align::kRight;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as there are columns; fewer leave the rest empty.
  void AddRow(std::vector<std::string> cells);
  // Lines with a line break each: titles, a rule, rows. Cells are ASCII.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "name    value" lines, names padded to the longest.
class Facts {
 public:
  void Add(std::string name, std::string value);
  std::string ToString() const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_TABLE_H_
