// What another program's kernels took in this run, cell by cell, as it printed it.
#ifndef BERTH_BENCH_CARD_MEASURED_CELLS_H_
#define BERTH_BENCH_CARD_MEASURED_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "berth/status.h"

namespace berth::bench {

class MeasuredCells {
 public:
  // One object of JSON a line: "pair" (GATE_UP+DOWN, any case), "rows" (at least 1) and
  // "us_per_layer" (above 0), whatever else there is; empty lines are skipped. InvalidArgument,
  // with the line, for anything else, for a cell that comes twice and for a file without any.
  static Result<MeasuredCells> Read(const std::string& path);
  // Lines of such a file; `name` is for messages.
  static Result<MeasuredCells> Parse(std::string_view text, const std::string& name);

  // Microseconds a layer; 0: that cell was not measured.
  double Microseconds(std::string_view pair, uint32_t rows) const;
  size_t size() const { return cells_.size(); }

 private:
  Status ParseLine(std::string_view line);

  std::map<std::pair<std::string, uint32_t>, double> cells_;  // by pair in capitals
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_MEASURED_CELLS_H_
