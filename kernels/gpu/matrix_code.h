// Matrix instructions: 16 weight rows times 8 activation rows, by a warp. Lane 4 g + t holds
// weights of rows g and g + 8, activations of row g, and results of weight rows g (c[0], c[1]) and
// g + 8 (c[2], c[3]) with activation rows 2 t and 2 t + 1.
#ifndef BERTH_KERNELS_GPU_MATRIX_CODE_H_
#define BERTH_KERNELS_GPU_MATRIX_CODE_H_

#include "kernels/gpu/card_warp.h"

namespace berth::kernels::gpu {

#if defined(BERTH_GPU_CUDA)

// c = start + 32 products: a[0], b[0] and a[2], b[1] are words 4 bytes wide of row g; a[1] and a[3]
// of row g + 8. Which columns the words are of is the caller's choice, alike for both operands.
BERTH_CARD_ONLY void MatrixDot(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                               int32_t start) {
#if defined(BERTH_ON_NVIDIA)
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%10,%10,%10};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(start));
#endif
}
// The same with 16 products.
BERTH_CARD_ONLY void MatrixDot(int32_t (&c)[4], uint32_t a0, uint32_t a1, uint32_t b,
                               int32_t start) {
#if defined(BERTH_ON_NVIDIA)
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%7,%7,%7,%7};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(start));
#endif
}

#elif !defined(__HIPCC__) && !defined(__CUDACC__)

inline void MatrixDot(int32_t (&c)[4], uint32_t a0, uint32_t a1, uint32_t b, int32_t start) {
  const uint32_t lane = ThreadIndex() % kWarp, g = lane / 4, t = lane % 4;
  const uint64_t* const a = emulated::Exchange(a0 | static_cast<uint64_t>(a1) << 32);
  uint64_t weights[4];
  for (uint32_t i = 0; i < 4; ++i) weights[i] = a[4 * g + i];
  const uint64_t* const rows = emulated::Exchange(b);
  for (uint32_t i = 0; i < 4; ++i) {
    c[i] = start;
    for (uint32_t k = 0; k < 4; ++k) {
      const auto weight = static_cast<uint32_t>(weights[k] >> (i < 2 ? 0 : 32));
      c[i] = ByteDot(weight, static_cast<uint32_t>(rows[4 * (2 * t + i % 2) + k]), c[i]);
    }
  }
}
inline void MatrixDot(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                      int32_t start) {
  int32_t low[4], high[4];
  MatrixDot(low, a[0], a[1], b[0], start);
  MatrixDot(high, a[2], a[3], b[1], 0);
  for (int i = 0; i < 4; ++i) c[i] = low[i] + high[i];
}

#else  // the HIP flavour, whoever compiles it: names for templates that are not used there

__device__ void MatrixDot(int32_t (&c)[4], uint32_t a0, uint32_t a1, uint32_t b, int32_t start);
__device__ void MatrixDot(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                          int32_t start);

#endif

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_MATRIX_CODE_H_
