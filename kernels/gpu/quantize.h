// 32 values of a row into 8 bits, by one warp, a value a lane (elementwise.h: QuantizeBlock).
#ifndef BERTH_KERNELS_GPU_QUANTIZE_H_
#define BERTH_KERNELS_GPU_QUANTIZE_H_

#include "kernels/gpu/card_elementwise.h"
#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

// Block `block` of row `row`. The whole warp calls it. Without `halves` none are stored.
BERTH_CARD_ONLY void QuantizeBlock(float x, const ByteRows& to, uint32_t row, uint32_t block) {
  // Magnitudes as integers: they order as the floats do, and infinities and NaNs come last.
  uint32_t largest = BitsOf(x) & 0x7fffffff;
  BERTH_UNROLL
  for (uint32_t lanes = 16; lanes > 0; lanes /= 2) {
    const uint32_t other = LaneXor(largest, lanes);
    largest = other > largest ? other : largest;
  }
  const bool finite = largest < 0x7f800000;
  const float scale = Div(FloatOf(largest), 127.0f);
  int32_t q = 0;
  float d = finite ? 0.0f : FloatOf(0x7fc00000);
  if (finite && scale != 0.0f) {
    d = scale;
    const auto value = static_cast<int32_t>(BitsOf(Add(Div(x, scale), kRound)) - kRoundBits);
    const int32_t most = value < 127 ? value : 127;
    q = most > -127 ? most : -127;
  }
  auto half = static_cast<uint32_t>(q);
  BERTH_UNROLL
  for (uint32_t lanes = 8; lanes > 0; lanes /= 2) half += LaneXor(half, lanes);
  const uint32_t sum = half + LaneXor(half, 16);
  const uint32_t lane = Lane();
  to.q[static_cast<size_t>(row) * to.stride + block * 32 + lane] = static_cast<int8_t>(q);
  const size_t at = static_cast<size_t>(row) * (to.stride / 32) + block;
  if (lane % 16 == 0 && to.halves != nullptr) {
    to.halves[2 * at + lane / 16] = Mul(d, static_cast<float>(static_cast<int32_t>(half)));
  }
  if (lane == 0) {
    to.d[at] = d;
    to.s[at] = Mul(d, static_cast<float>(static_cast<int32_t>(sum)));
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_QUANTIZE_H_
