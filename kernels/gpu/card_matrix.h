// Matrix instructions, by whole warps.
#ifndef BERTH_KERNELS_GPU_CARD_MATRIX_H_
#define BERTH_KERNELS_GPU_CARD_MATRIX_H_

#include <cstdint>

#include "kernels/gpu/card_warp.h"

// Whether what is compiled has them; a card without takes units of many rows in chunks.
#if defined(__HIPCC__)
#define BERTH_HAS_MATRIX_UNITS 0
#else
#define BERTH_HAS_MATRIX_UNITS 1
#endif

namespace berth::kernels::gpu {

#if BERTH_HAS_MATRIX_UNITS
// sums += a * b: 16 rows of 16 BF16 times 16 rows of 8, F32 sums of 16 rows of 8.
//
// Lane 4 g + t holds of a, two to a register, rows g and g + 8 of columns 2 t and 2 t + 1, then the
// same rows of columns 8 more; of b, of column g, rows 2 t and 2 t + 1, then 8 more; of the sums,
// columns 2 t and 2 t + 1 of row g, then of row g + 8.
//
// In which order a card adds up, and how it rounds in between, is its own affair; the emulated card
// rounds once.
BERTH_CARD_ONLY void MultiplyAdd(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(BERTH_ON_NVIDIA)
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
#elif !defined(__CUDACC__)
  // Columns 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of a row of a or column of b, by lane.
  uint64_t rows[2][kWarp], cols[kWarp];
  const auto exchange = [](uint32_t low, uint32_t high, uint64_t(&to)[kWarp]) {
    const uint64_t* const all = emulated::Exchange(low | static_cast<uint64_t>(high) << 32);
    for (uint32_t i = 0; i < kWarp; ++i) to[i] = all[i];
  };
  exchange(a[0], a[2], rows[0]);
  exchange(a[1], a[3], rows[1]);
  exchange(b[0], b[1], cols);
  const uint32_t g = Lane() / 4, t = Lane() % 4;
  for (uint32_t i = 0; i < 4; ++i) {
    double sum = sums[i];
    for (uint32_t lane = 0; lane < 4; ++lane) {
      const uint64_t left = rows[i / 2][4 * g + lane], right = cols[4 * (2 * t + i % 2) + lane];
      for (uint32_t shift = 0; shift < 64; shift += 16) {
        sum += static_cast<double>(Bfloat16ToFloat(left >> shift & 0xffff)) *
               Bfloat16ToFloat(right >> shift & 0xffff);
      }
    }
    sums[i] = static_cast<float>(sum);
  }
#endif
}
#endif

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CARD_MATRIX_H_
