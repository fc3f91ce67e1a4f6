#include "runtime/config/kernel_table.h"

#include <algorithm>

namespace berth {

using kernels::KernelChoice;

MeasuredKernel MeasuredKernelOf(const kernels::ExpertSpec& spec, uint32_t top_k, uint32_t rows) {
  MeasuredKernel calls;
  if (spec.conventions.has_gate()) calls.gate = spec.gate.type;
  calls.up = spec.up.type;
  calls.down = spec.down.type;
  calls.hidden = spec.hidden;
  calls.ffn = spec.ffn;
  calls.experts = spec.experts;
  calls.top_k = top_k;
  calls.rows = rows;
  return calls;
}

KernelTable::KernelTable(const CardProfile& card, const kernels::ExpertSpec& spec, uint32_t top_k) {
  for (const MeasuredKernel& choice : card.choices) {
    if (!choice.SameCalls(MeasuredKernelOf(spec, top_k, choice.rows))) continue;
    choices_.emplace_back(choice.rows, choice.kernel);
  }
  std::sort(choices_.begin(), choices_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

KernelChoice KernelTable::For(uint32_t rows) const {
  const auto above =
      std::lower_bound(choices_.begin(), choices_.end(), rows,
                       [](const auto& choice, uint32_t value) { return choice.first < value; });
  if (above == choices_.begin()) {
    const bool near = above != choices_.end() && above->first <= uint64_t{2} * rows;
    return near ? above->second : KernelChoice();
  }
  const auto below = above - 1;
  if (above == choices_.end()) {
    return rows <= uint64_t{2} * below->first ? below->second : KernelChoice();
  }
  const bool nearer_below = uint64_t{rows} * rows <= uint64_t{below->first} * above->first;
  return nearer_below ? below->second : above->second;
}

const CardProfile* FindCard(const MachineProfile& profile, const std::string& card) {
  for (const CardProfile& entry : profile.cards) {
    if (entry.card == card) return &entry;
  }
  return nullptr;
}

const CardProfile* FindChoices(const MachineProfile& profile, const std::string& card,
                               const std::string& properties) {
  const CardProfile* found = nullptr;
  for (const CardProfile& entry : profile.cards) {
    if (entry.choices.empty() || entry.properties != properties) continue;
    if (found == nullptr || entry.card == card) found = &entry;
  }
  return found;
}

}  // namespace berth
