#include "arena/budget.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::arena {
namespace {

// "; lower --host-tier to at most 12400000000 (12.4 GB)". `items` are sorted, largest first.
std::string WhatToLower(const std::vector<BudgetItem>& items, uint64_t over) {
  std::string flags;
  for (const BudgetItem& item : items) {
    if (item.flag.empty() || item.bytes == 0) continue;
    if (item.bytes >= over && flags.empty()) {
      const uint64_t most = item.bytes - over;
      return ": lower " + item.flag + " (" + item.name + ") to at most " + std::to_string(most) +
             " (" + FormatBytes(most) + ")";
    }
    if (flags.find(item.flag) != std::string::npos) continue;
    flags += (flags.empty() ? ": lower " : " and ") + item.flag;
  }
  return flags.empty() ? ": a smaller model or a larger machine is needed" : flags;
}

}  // namespace

Status CheckBudget(std::span<const BudgetItem> items, uint64_t available_bytes) {
  uint64_t total = 0;
  for (const BudgetItem& item : items) {
    if (!CheckedAdd(total, item.bytes, &total)) total = UINT64_MAX;
  }
  if (total <= available_bytes) return Status();
  std::vector<BudgetItem> sorted(items.begin(), items.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const BudgetItem& a, const BudgetItem& b) { return a.bytes > b.bytes; });
  std::string text = "needs " + FormatBytes(total) + " of memory, " + FormatBytes(available_bytes) +
                     " are available (";
  bool first = true;
  for (const BudgetItem& item : sorted) {
    if (item.bytes == 0) continue;
    text += (first ? "" : ", ") + item.name + " " + FormatBytes(item.bytes);
    first = false;
  }
  return ResourceExhaustedError(text + ")" + WhatToLower(sorted, total - available_bytes));
}

}  // namespace berth::arena
