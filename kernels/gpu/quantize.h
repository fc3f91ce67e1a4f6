// Values of a row into 8 bits, by one warp (elementwise.h: QuantizeBlock): a block of 32, a value a
// lane, or four blocks, four values a lane.
#ifndef BERTH_KERNELS_GPU_QUANTIZE_H_
#define BERTH_KERNELS_GPU_QUANTIZE_H_

#include "kernels/gpu/card_elementwise.h"
#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

// The largest magnitude of `2 * lanes` lanes, as an integer: these order as the floats do, and
// infinities and NaNs come last.
BERTH_CARD_ONLY uint32_t LargestOf(uint32_t largest, uint32_t lanes) {
  BERTH_UNROLL
  for (; lanes > 0; lanes /= 2) {
    const uint32_t other = LaneXor(largest, lanes);
    largest = other > largest ? other : largest;
  }
  return largest;
}
BERTH_CARD_ONLY int32_t QuantizeValue(float x, float scale) {
  const auto value = static_cast<int32_t>(BitsOf(Add(Div(x, scale), kRound)) - kRoundBits);
  const int32_t most = value < 127 ? value : 127;
  return most > -127 ? most : -127;
}

// Block `block` of row `row`. The whole warp calls it. Without `halves` none are stored.
BERTH_CARD_ONLY void QuantizeBlock(float x, const ByteRows& to, uint32_t row, uint32_t block) {
  const uint32_t largest = LargestOf(BitsOf(x) & 0x7fffffff, 16);
  const bool finite = largest < 0x7f800000;
  const float scale = Div(FloatOf(largest), 127.0f);
  int32_t q = 0;
  float d = finite ? 0.0f : FloatOf(0x7fc00000);
  if (finite && scale != 0.0f) {
    d = scale;
    q = QuantizeValue(x, scale);
  }
  auto half = static_cast<uint32_t>(q);
  BERTH_UNROLL
  for (uint32_t lanes = 8; lanes > 0; lanes /= 2) half += LaneXor(half, lanes);
  const uint32_t sum = half + LaneXor(half, 16);
  const uint32_t lane = Lane();
  const uint32_t place = PlaceApart(block) * 32 + lane;
  to.q[static_cast<size_t>(row) * to.stride + place] = static_cast<int8_t>(q);
  const size_t at = static_cast<size_t>(row) * (to.stride / 32) + block;
  if (lane % 16 == 0 && to.halves != nullptr) {
    to.halves[2 * at + lane / 16] = Mul(d, static_cast<float>(static_cast<int32_t>(half)));
  }
  if (lane == 0) {
    to.d[at] = d;
    to.s[at] = Mul(d, static_cast<float>(static_cast<int32_t>(sum)));
  }
}

// Block `block` of row `row` by the eight lanes from a multiple of 8 on, four values in a row each;
// `there`: of these lanes, whether there is such a block. The whole warp calls it.
BERTH_CARD_ONLY void QuantizeBlockByEight(const float (&x)[4], const ByteRows& to, uint32_t row,
                                          uint32_t block, bool there) {
  uint32_t largest = 0;
  BERTH_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t magnitude = BitsOf(x[i]) & 0x7fffffff;
    largest = magnitude > largest ? magnitude : largest;
  }
  largest = LargestOf(largest, 4);
  const bool finite = largest < 0x7f800000;
  const float scale = Div(FloatOf(largest), 127.0f);
  uint32_t q = 0;
  float d = finite ? 0.0f : FloatOf(0x7fc00000);
  if (finite && scale != 0.0f) {
    d = scale;
    BERTH_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      q |= (static_cast<uint32_t>(QuantizeValue(x[i], scale)) & 0xff) << (8 * i);
    }
  }
  auto half = static_cast<uint32_t>(ByteDot(q, 0x01010101, 0));
  half += LaneXor(half, 1);
  half += LaneXor(half, 2);
  const uint32_t sum = half + LaneXor(half, 4);
  if (!there) return;
  const uint32_t lane = Lane() % 8;
  const size_t at = static_cast<size_t>(row) * (to.stride / 32) + block;
  auto* const of_row = reinterpret_cast<uint32_t*>(to.q + static_cast<size_t>(row) * to.stride);
  of_row[8 * PlaceApart(block) + lane] = q;
  if (lane % 4 == 0 && to.halves != nullptr) {
    to.halves[2 * at + lane / 4] = Mul(d, static_cast<float>(static_cast<int32_t>(half)));
  }
  if (lane == 0) {
    to.d[at] = d;
    to.s[at] = Mul(d, static_cast<float>(static_cast<int32_t>(sum)));
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_QUANTIZE_H_
