// Weights on their way into shared memory. Each warp has stages of its own that it fills ahead of
// itself and empties in turn, so no warp waits for another and no stage is ever filled twice before
// it was read: a parity is enough to tell its fills apart.
//
// Bulk copies where there are (sm_90), 16-byte asynchronous copies (sm_80), plain ones elsewhere.
// All copy whole pieces of 16 bytes at multiples of 16: up to 15 bytes in front of what is asked
// for and behind it are read with it (slots are padded to 256).
#ifndef BERTH_KERNELS_GPU_STAGING_H_
#define BERTH_KERNELS_GPU_STAGING_H_

#include "kernels/gpu/card_warp.h"

namespace berth::kernels::gpu {

#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
inline constexpr bool kBulkCopies = true;
#else
inline constexpr bool kBulkCopies = false;
#endif

BERTH_CARD_ONLY uint32_t SharedAddress(const void* at) {
#if defined(BERTH_ON_NVIDIA)
  return static_cast<uint32_t>(__cvta_generic_to_shared(at));
#else
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at));
#endif
}
BERTH_CARD_ONLY uint32_t Head(const uint8_t* from) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) & 15);
}

// The barrier of a stage: full once `copies` lanes have come and their bytes have.
BERTH_CARD_ONLY void InitBarrier([[maybe_unused]] uint64_t* full,
                                 [[maybe_unused]] uint32_t copies) {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(SharedAddress(full)), "r"(copies)
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// In front of copies of weights in PTX: `once` tells the card's cache that they will not be read
// again soon. What launches leave for each other, and their code, stays there the longer.
#define BERTH_READ_ONCE \
  "{\n.reg .b64 once;\ncreatepolicy.fractional.L2::evict_first.b64 once, 1.0;\n"

// One lane's copy into a stage, for kBulkCopies; `to` has the same place in 16 bytes as `from`.
BERTH_CARD_ONLY void CopyBulk([[maybe_unused]] uint8_t* to, [[maybe_unused]] const uint8_t* from,
                              [[maybe_unused]] uint32_t bytes, [[maybe_unused]] uint64_t* full) {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
  const uint32_t head = Head(from);
  const uint32_t whole = bytes == 0 ? 0 : (head + bytes + 15) & ~15u;
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(SharedAddress(full)),
               "r"(whole)
               : "memory");
  if (whole == 0) return;
  asm volatile(BERTH_READ_ONCE
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
               "[%0], [%1], %2, [%3], once;\n}" ::"r"(SharedAddress(to) & ~15u),
               "l"(reinterpret_cast<uintptr_t>(from) & ~uintptr_t{15}), "r"(whole),
               "r"(SharedAddress(full))
               : "memory");
#endif
}

// 16 bytes, both at multiples of 16; what is asked for is bytes [begin, end) of them.
BERTH_CARD_ONLY void CopyPiece(uint8_t* to, const uint8_t* from, [[maybe_unused]] uint32_t begin,
                               [[maybe_unused]] uint32_t end) {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(to)), "l"(from)
               : "memory");
#elif defined(BERTH_ON_NVIDIA) || defined(BERTH_ON_RADEON)
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
#else
  for (uint32_t i = begin; i < end; ++i) to[i] = from[i];
#endif
}
// The same of weights.
BERTH_CARD_ONLY void CopyWeights(uint8_t* to, const uint8_t* from, [[maybe_unused]] uint32_t begin,
                                 [[maybe_unused]] uint32_t end) {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800
  asm volatile(
      BERTH_READ_ONCE
      "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, once;\n}" ::"r"(SharedAddress(to)),
      "l"(from)
      : "memory");
#else
  CopyPiece(to, from, begin, end);
#endif
}

// The whole warp's copy, for the others.
BERTH_CARD_ONLY void CopyByWarp(uint8_t* to, const uint8_t* from, uint32_t bytes) {
#if defined(BERTH_ON_NVIDIA) || defined(BERTH_ON_RADEON)
  const uint32_t head = Head(from);
  for (uint32_t i = 16 * Lane(); i < head + bytes; i += 16 * kWarp) {
    CopyWeights(to - head + i, from - head + i, 0, 16);
  }
#else
  for (uint32_t i = Lane(); i < bytes; i += kWarp) to[i] = from[i];
#endif
}

// Closes a group of such copies; waits until at most kLeft groups are under way.
BERTH_CARD_ONLY void ClosePieces() {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <uint32_t kLeft>
BERTH_CARD_ONLY void WaitForPieces() {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}
// What was written to shared memory comes before bulk copies into it that follow a barrier.
BERTH_CARD_ONLY void FenceBeforeBulkCopies() {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// From where no kernel can read weights as they lie: to a multiple of 4, word by word.
BERTH_CARD_ONLY void CopyRealigned(uint8_t* to, const uint8_t* from, uint32_t bytes) {
#if defined(BERTH_ON_NVIDIA) || defined(BERTH_ON_RADEON)
  const auto shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) & 3);
  const auto* const words = reinterpret_cast<const uint32_t*>(from - shift);
  for (uint32_t i = Lane(); 4 * i < bytes; i += kWarp) {
    // The next word only if it holds a byte that is asked for.
    const uint32_t low = words[i];
    const uint32_t high = shift + bytes > 4 * i + 4 ? words[i + 1] : 0;
    reinterpret_cast<uint32_t*>(to)[i] =
        static_cast<uint32_t>((low | static_cast<uint64_t>(high) << 32) >> (8 * shift));
  }
#else
  for (uint32_t i = Lane(); i < bytes; i += kWarp) to[i] = from[i];
#endif
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Ends what a warp has asked for into one stage (nothing, also).
BERTH_CARD_ONLY void CloseStage() {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for fill number `fill` of the stage; `depth` stages have been closed since, this included.
BERTH_CARD_ONLY void WaitForStage([[maybe_unused]] uint64_t* full, [[maybe_unused]] uint32_t fill,
                                  [[maybe_unused]] uint32_t depth) {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra "
      "L%=;\n}" ::"r"(SharedAddress(full)),
      "r"(fill & 1)
      : "memory");
#elif defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800
  if (depth == 1) asm volatile("cp.async.wait_group 0;" ::: "memory");
  if (depth == 2) asm volatile("cp.async.wait_group 1;" ::: "memory");
  if (depth == 3) asm volatile("cp.async.wait_group 2;" ::: "memory");
  if (depth == 4) asm volatile("cp.async.wait_group 3;" ::: "memory");
#endif
  SyncWarp();
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_STAGING_H_
