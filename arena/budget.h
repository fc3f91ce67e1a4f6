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
  std::string flag;  // what makes it smaller: "--host-tier"; empty where nothing does
};

// ResourceExhausted where the items need more than `available_bytes`: one line with the largest
// items first and what to lower, and to how much where lowering one item alone is enough.
Status CheckBudget(std::span<const BudgetItem> items, uint64_t available_bytes);

}  // namespace berth::arena

#endif  // BERTH_ARENA_BUDGET_H_
