// What stages of any shape do alike: how two parts of weights that lie side by side come to shared
// memory, and what the stage's barrier learns of it.
#ifndef BERTH_KERNELS_GPU_STAGE_COPIES_H_
#define BERTH_KERNELS_GPU_STAGE_COPIES_H_

#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/staging.h"

namespace berth::kernels::gpu {

// Whether weights are moved to a multiple of 16 as they come, because decoders could not read both
// parts where they lie. Of one part: twice the same.
template <typename F>
BERTH_CARD_ONLY bool Realigned(const uint8_t* first, const uint8_t* second) {
  if constexpr (kLie<F> == Lie::kAny) return false;
  const auto one = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(first));
  const auto two = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(second));
  return ((one ^ two) & 3) != 0 || ((one | two) & (kRowAlign<F> - 1)) != 0;
}
// Bytes of a slot in front of what was copied into it.
BERTH_CARD_ONLY uint32_t HeadOf(const uint8_t* from, bool realigned) {
  return realigned ? 0 : Head(from);
}
// By the whole warp, where a lane's bulk copy will not do.
BERTH_CARD_ONLY void CopyToStage(uint8_t* to, const uint8_t* from, uint32_t bytes, bool realigned) {
  if (realigned) {
    CopyRealigned(to, from, bytes);
  } else {
    CopyByWarp(to, from, bytes);
  }
}
// Behind such copies: the barrier of a stage that waits for so many lanes.
BERTH_CARD_ONLY void ArriveAtStage([[maybe_unused]] uint64_t* full,
                                   [[maybe_unused]] uint32_t copies) {
  if constexpr (kBulkCopies) {
    SyncWarp();
    if (Lane() < copies) CopyBulk(nullptr, nullptr, 0, full);
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_STAGE_COPIES_H_
