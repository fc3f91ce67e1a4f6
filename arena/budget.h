// One check of everything that will be allocated against one reading of the machine's memory, made
// before the first of it is.
#ifndef BERTH_ARENA_BUDGET_H_
#define BERTH_ARENA_BUDGET_H_

#include <cstdint>
#include <span>
#include <string>

#include "berth/status.h"

namespace berth::arena {

struct BudgetItem {
  std::string name;  // "host tier", "staging", "arena of host:0", "workspace"
  uint64_t bytes = 0;
  // What makes it smaller: "--host-tier"; empty where nothing does. Items of one flag are made
  // smaller together: the flag is advised a value that holds for each of them.
  std::string flag;
  uint64_t unit_bytes = 1;  // what the flag counts: bytes, or units of so many bytes
  uint64_t least = 1;       // the smallest value of the flag that may be advised
};

// ResourceExhausted where the items need more than `available_bytes`: one line with the largest
// items first and what to lower: the flag that frees most and the value it must not exceed, or
// where no flag is enough by itself, those that are enough together.
Status CheckBudget(std::span<const BudgetItem> items, uint64_t available_bytes);

}  // namespace berth::arena

#endif  // BERTH_ARENA_BUDGET_H_
