// The steps of the exact arithmetic (docs/arithmetic.md): one block of 32 weights with one row.
#ifndef BERTH_KERNELS_GPU_DOT_STEPS_H_
#define BERTH_KERNELS_GPU_DOT_STEPS_H_

#include "kernels/gpu/card_code.h"
#include "kernels/gpu/card_elementwise.h"
#include "kernels/gpu/formats/card_format.h"

namespace berth::kernels::gpu {

// The two halves of 32 weights have sums of their own.
template <typename F>
inline constexpr bool kTwoSums = F::kKind.halves || F::kKind.two_scales;

// Integer sums of products, each begun at kRoundBits: as the bits of a float, 12582912 plus the
// sum, which is below 2^22.
template <typename F>
struct BlockSums {
  int32_t sum[kTwoSums<F> ? 2 : 1];
};

template <typename F>
BERTH_CARD BlockSums<F> DotBlock(const uint32_t (&w)[8], const uint32_t (&q)[8]) {
  BlockSums<F> to;
  int32_t low = static_cast<int32_t>(kRoundBits);
  int32_t high = kTwoSums<F> ? static_cast<int32_t>(kRoundBits) : 0;
  // Two chains, either way.
  for (int i = 0; i < 4; ++i) {
    low = ByteDot(w[i], q[i], low);
    high = ByteDot(w[4 + i], q[4 + i], high);
  }
  if constexpr (kTwoSums<F>) {
    to.sum[0] = low;
    to.sum[1] = high;
  } else {
    to.sum[0] = low + high;
  }
  return to;
}

// What of a block does not depend on the row.
template <typename F>
struct BlockFactors {
  float d[2];
  float scale[2];   // sub-scales as floats
  float offset[2];  // -12582912 times these: exact
  float minimum[2];

  BERTH_CARD explicit BlockFactors(const BlockScales& scales) {
    constexpr int kSums = kTwoSums<F> ? 2 : 1;
    d[0] = scales.d[0];
    if constexpr (F::kKind.two_scales) d[1] = scales.d[1];
    for (int i = 0; i < kSums; ++i) {
      if constexpr (F::kKind.scales) {
        scale[i] = static_cast<float>(scales.scale[F::kKind.halves ? i : 0]);
        offset[i] = Mul(scale[i], -kRound);
      }
      if constexpr (F::kKind.minima) minimum[i] = -scales.minimum[F::kKind.halves ? i : 0];
    }
  }

  // Sub-scale times sum. One rounding of what is exact.
  BERTH_CARD float Scaled(const BlockSums<F>& sums, int i) const {
    const float value = FloatOf(static_cast<uint32_t>(sums.sum[i]));
    if constexpr (F::kKind.scales) return Fma(value, scale[i], offset[i]);
    return Sub(value, kRound);
  }

  // da, s, halves: of the row's 32 activations; only what the format uses is read.
  BERTH_CARD void Step(const BlockSums<F>& sums, float da, const float* s, const float* halves,
                       float* sum) const {
    if constexpr (F::kKind.two_scales) {
      *sum = Fma(Mul(d[0], da), Scaled(sums, 0), *sum);
      *sum = Fma(Mul(d[1], da), Scaled(sums, 1), *sum);
    } else if constexpr (F::kKind.halves) {
      *sum = Fma(Mul(d[0], da), Add(Scaled(sums, 0), Scaled(sums, 1)), *sum);
    } else {
      *sum = Fma(Mul(d[0], da), Scaled(sums, 0), *sum);
    }
    if constexpr (F::kKind.minima && F::kKind.halves) {
      *sum = Fma(minimum[0], halves[0], *sum);
      *sum = Fma(minimum[1], halves[1], *sum);
    } else if constexpr (F::kKind.minima) {
      *sum = Fma(minimum[0], *s, *sum);
    }
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_STEPS_H_
