// MissCosts: what misses cost on a machine, in nanoseconds, as a profile says. What is decided by
// them depends on these figures and on the order of submissions, never on a running clock.
#ifndef BERTH_SCHEDULER_MISS_COSTS_H_
#define BERTH_SCHEDULER_MISS_COSTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::scheduler {

struct CardMissCosts {
  std::vector<uint64_t> copy;  // [layers] of a unit over the link
  uint64_t lead = 0;           // before the first copy of a step moves
  uint64_t tail = 0;           // from the end of a copy until its unit can be computed
  std::vector<uint64_t> call;  // [layers] of a grouped call, besides its units
  std::vector<uint64_t> unit;  // [layers][rows] of each of its units
};

struct MissCosts {
  uint32_t rows = 0;  // figures stand for units of 1 to `rows` rows; of more: in proportion
  std::vector<uint64_t> host;  // [layers][rows] of a unit that the host computes
  std::vector<uint64_t> read;  // [layers] of a unit from storage
  std::vector<CardMissCosts> cards;
  // Between two steps, what the rest of the model takes; every row adds to it.
  uint64_t rest = 0, rest_row = 0;

  // Not known: nothing is decided by costs.
  bool empty() const { return rows == 0; }
  // Of a table by layer and rows.
  uint64_t At(const std::vector<uint64_t>& table, uint32_t layer, uint32_t unit_rows) const {
    const size_t first = static_cast<size_t>(layer) * rows;
    if (unit_rows <= rows) return table[first + std::max(unit_rows, 1u) - 1];
    return table[first + rows - 1] * unit_rows / rows;
  }
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_MISS_COSTS_H_
