// Which of a card's kernels run a grouped call. All that a card offers for a call give the same
// bits, so a choice is a matter of speed alone: `berth probe` measures, `berth run` obeys.
#ifndef BERTH_KERNELS_KERNEL_CHOICE_H_
#define BERTH_KERNELS_KERNEL_CHOICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/status.h"

namespace berth::kernels {

enum class KernelKind : uint8_t {
  kAuto,      // by the card's built-in rule
  kPlain,     // one kernel for every type
  kDots,      // made for the type, with integer dot products; gate and up, then down
  kMatrices,  // made for the type, with integer matrix instructions
  kWide,      // calls that have units of more than exact_rows pairs, in wide arithmetic
};

struct KernelChoice {
  KernelKind kind = KernelKind::kAuto;
  uint32_t pairs = 0;  // kWide: of a unit at a time, a multiple of 16; else 0

  std::string ToString() const;  // "auto", "plain", "dots", "matrices", "wide:48"
  friend bool operator==(const KernelChoice&, const KernelChoice&) = default;
};
// What ToString writes; InvalidArgument, with the nearest name, for anything else.
Result<KernelChoice> ParseKernelChoice(std::string_view text);

// Products (two a grouped call) by the kernel that ran them.
struct KernelLaunches {
  uint64_t plain = 0, dots = 0, matrices = 0, wide = 0;
  uint64_t at_once = 0;  // calls whose products, of `dots`, were one launch
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_KERNEL_CHOICE_H_
