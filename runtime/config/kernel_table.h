// KernelTable: the kernels that a machine profile has chosen for one layer's calls on one card.
#ifndef BERTH_RUNTIME_CONFIG_KERNEL_TABLE_H_
#define BERTH_RUNTIME_CONFIG_KERNEL_TABLE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/expert/expert_spec.h"
#include "kernels/kernel_choice.h"
#include "runtime/config/machine_profile.h"

namespace berth {

class KernelTable {
 public:
  KernelTable() = default;  // every call is the card's own choice
  // Choices for layers of these types, this shape and top_k.
  KernelTable(const CardProfile& card, const kernels::ExpertSpec& spec, uint32_t top_k);

  bool empty() const { return choices_.empty(); }
  // What was measured with the nearest number of rows, by ratio; beyond what was measured, no more
  // than twice as many or half as few. Else kAuto.
  kernels::KernelChoice For(uint32_t rows) const;

 private:
  std::vector<std::pair<uint32_t, kernels::KernelChoice>> choices_;  // by rows, ascending
};

// The same, as a measurement of such a layer is written down.
MeasuredKernel MeasuredKernelOf(const kernels::ExpertSpec& spec, uint32_t top_k, uint32_t rows);

// The profile's entry for a card of this name; null where there is none.
const CardProfile* FindCard(const MachineProfile& profile, const std::string& card);
// The entry whose choices of kernels hold for such a card: its own, or that of a card of the same
// properties. Null where there is none.
const CardProfile* FindChoices(const MachineProfile& profile, const std::string& card,
                               const std::string& properties);

}  // namespace berth

#endif  // BERTH_RUNTIME_CONFIG_KERNEL_TABLE_H_
