#include "arena/budget.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::arena {
namespace {

uint64_t Sum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return CheckedAdd(a, b, &sum) ? sum : UINT64_MAX;
}

// All items of one flag.
struct Knob {
  std::string flag;
  std::vector<BudgetItem> items;

  // What the items take where the flag is at most `value`.
  uint64_t BytesAt(uint64_t value) const {
    uint64_t bytes = 0;
    for (const BudgetItem& item : items) {
      uint64_t most = 0;
      if (!CheckedMul(value, item.unit_bytes, &most)) most = UINT64_MAX;
      bytes = Sum(bytes, std::min(item.bytes, most));
    }
    return bytes;
  }
  uint64_t bytes() const { return BytesAt(UINT64_MAX); }
  uint64_t least() const {
    uint64_t least = 0;
    for (const BudgetItem& item : items) least = std::max(least, item.least);
    return least;
  }
  uint64_t freed() const { return bytes() - BytesAt(least()); }
};

// Of everything that a flag makes smaller; the one that frees most is first.
std::vector<Knob> KnobsOf(const std::vector<BudgetItem>& items) {
  std::vector<Knob> knobs;
  for (const BudgetItem& item : items) {
    if (item.flag.empty() || item.bytes == 0) continue;
    auto knob = std::find_if(knobs.begin(), knobs.end(),
                             [&](const Knob& k) { return k.flag == item.flag; });
    if (knob == knobs.end()) knob = knobs.insert(knobs.end(), {item.flag, {}});
    knob->items.push_back(item);
  }
  std::stable_sort(knobs.begin(), knobs.end(),
                   [](const Knob& a, const Knob& b) { return a.freed() > b.freed(); });
  return knobs;
}

// The largest value of the flag at which its items take at most `bytes`; one exists.
uint64_t MostFor(const Knob& knob, uint64_t bytes) {
  uint64_t low = knob.least();
  uint64_t high = UINT64_MAX;
  while (low < high) {
    const uint64_t middle = high - (high - low) / 2;
    if (knob.BytesAt(middle) <= bytes) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// ": lower --host-tier (host tier) to at most 12400000000 (12.4 GB)". The exact number, because it
// is to be typed.
std::string WhatToLower(const std::vector<BudgetItem>& items, uint64_t over) {
  const std::vector<Knob> knobs = KnobsOf(items);
  if (!knobs.empty() && knobs.front().freed() >= over) {
    const Knob& knob = knobs.front();
    const bool several = knob.items.size() > 1;
    const uint64_t most = MostFor(knob, knob.bytes() - over);
    const std::string unit = knob.items.front().unit_bytes == 1 ? " (" + FormatBytes(most) + ")"
                             : most == 1                        ? " unit"
                                                                : " units";
    return ": lower " + knob.flag + (several ? "" : " (" + knob.items.front().name + ")") +
           " to at most " + std::to_string(most) + unit + (several ? " for each card" : "");
  }
  std::string flags;
  uint64_t freed = 0;
  for (const Knob& knob : knobs) {
    if (knob.freed() == 0) break;
    flags += (flags.empty() ? "" : " and ") + knob.flag;
    freed = Sum(freed, knob.freed());
    if (freed >= over) {
      return ": lower " + flags + ", by " + std::to_string(over) + " (" + FormatBytes(over) +
             ") together";
    }
  }
  return ": a smaller model or a larger machine is needed";
}

}  // namespace

Status CheckBudget(std::span<const BudgetItem> items, uint64_t available_bytes) {
  uint64_t total = 0;
  for (const BudgetItem& item : items) {
    total = Sum(total, item.bytes);
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
