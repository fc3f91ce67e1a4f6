#include "bench/card/measured_cells.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace berth::bench {
namespace {

std::string InCapitals(std::string_view text) {
  std::string capitals(text);
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return capitals;
}

}  // namespace

Result<MeasuredCells> MeasuredCells::Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in.is_open()) text << in.rdbuf();
  if (!in.is_open() || text.bad()) return NotFoundError("cannot read " + path);
  return Parse(text.str(), path);
}

Result<MeasuredCells> MeasuredCells::Parse(std::string_view text, const std::string& name) {
  MeasuredCells made;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const Status parsed = made.ParseLine(text.substr(0, end));
    if (!parsed.ok()) return parsed.Annotate(name + ", line " + std::to_string(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (made.cells_.empty()) {
    return InvalidArgumentError(name +
                                ": no cell in it: a line for each is expected, such as {\"pair\": "
                                "\"IQ3_S+IQ4_NL\", \"rows\": 8, \"us_per_layer\": 171}");
  }
  return made;
}

Status MeasuredCells::ParseLine(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == line.npos) return Status();
  const nlohmann::json cell = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!cell.is_object()) return InvalidArgumentError("no object of JSON");
  const auto pair = cell.find("pair"), rows = cell.find("rows"), us = cell.find("us_per_layer");
  if (pair == cell.end() || !pair->is_string()) {
    return InvalidArgumentError("\"pair\": a string is expected");
  }
  const std::string name = InCapitals(pair->get<std::string>());
  const size_t plus = name.find('+');
  if (plus == 0 || plus == name.npos || plus + 1 == name.size()) {
    return InvalidArgumentError("\"pair\": GATE_UP+DOWN is expected, not '" + name + "'");
  }
  if (rows == cell.end() || !rows->is_number_unsigned() || rows->get<uint64_t>() == 0 ||
      rows->get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgumentError("\"rows\": a whole number of at least 1 is expected");
  }
  // Above 0, and no infinity: a figure that is none would make every target met, or none.
  if (us == cell.end() || !us->is_number() || !(us->get<double>() > 0) ||
      !std::isfinite(us->get<double>())) {
    return InvalidArgumentError("\"us_per_layer\": a number above 0 is expected");
  }
  const bool first =
      cells_.emplace(std::pair(name, rows->get<uint32_t>()), us->get<double>()).second;
  if (first) return Status();
  return InvalidArgumentError(name + " of " + rows->dump() + " rows is there twice");
}

double MeasuredCells::Microseconds(std::string_view pair, uint32_t rows) const {
  const auto found = cells_.find({InCapitals(pair), rows});
  return found == cells_.end() ? 0 : found->second;
}

}  // namespace berth::bench
