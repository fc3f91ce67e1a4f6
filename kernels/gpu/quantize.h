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

// Block `block` of row `row`, by 32 / kValues lanes from a multiple of that on, kValues values in a
// row each; `there`: of these lanes, whether there is such a block. The whole warp calls it.
// Without `halves` none are stored.
template <uint32_t kValues>
BERTH_CARD_ONLY void QuantizeBlocks(const float (&x)[kValues], const ByteRows& to, uint32_t row,
                                    uint32_t block, bool there) {
  static_assert(kValues == 1 || kValues == 4);
  constexpr uint32_t kLanes = kWarp / kValues;
  uint32_t largest = 0;
  BERTH_UNROLL
  for (uint32_t i = 0; i < kValues; ++i) {
    const uint32_t magnitude = BitsOf(x[i]) & 0x7fffffff;
    largest = magnitude > largest ? magnitude : largest;
  }
  largest = LargestOf(largest, kLanes / 2);
  const bool finite = largest < 0x7f800000;
  const float scale = Div(FloatOf(largest), 127.0f);
  int32_t q[kValues] = {};
  float d = finite ? 0.0f : FloatOf(0x7fc00000);
  if (finite && scale != 0.0f) {
    d = scale;
    BERTH_UNROLL
    for (uint32_t i = 0; i < kValues; ++i) q[i] = QuantizeValue(x[i], scale);
  }
  uint32_t half = 0;
  BERTH_UNROLL
  for (uint32_t i = 0; i < kValues; ++i) half += static_cast<uint32_t>(q[i]);
  BERTH_UNROLL
  for (uint32_t lanes = kLanes / 4; lanes > 0; lanes /= 2) half += LaneXor(half, lanes);
  const uint32_t sum = half + LaneXor(half, kLanes / 2);
  if (!there) return;
  const uint32_t lane = Lane() % kLanes;
  int8_t* const of_block = to.q + static_cast<size_t>(row) * to.stride + PlaceApart(block) * 32;
  if constexpr (kValues == 1) {
    of_block[lane] = static_cast<int8_t>(q[0]);
  } else {
    uint32_t word = 0;
    BERTH_UNROLL
    for (uint32_t i = 0; i < kValues; ++i) word |= (static_cast<uint32_t>(q[i]) & 0xff) << (8 * i);
    reinterpret_cast<uint32_t*>(of_block)[lane] = word;
  }
  const size_t at = static_cast<size_t>(row) * (to.stride / 32) + block;
  if (lane % (kLanes / 2) == 0 && to.halves != nullptr) {
    to.halves[2 * at + lane / (kLanes / 2)] =
        Mul(d, static_cast<float>(static_cast<int32_t>(half)));
  }
  if (lane == 0) {
    to.d[at] = d;
    to.s[at] = Mul(d, static_cast<float>(static_cast<int32_t>(sum)));
  }
}

// A block by the whole warp.
BERTH_CARD_ONLY void QuantizeBlock(float x, const ByteRows& to, uint32_t row, uint32_t block) {
  const float values[1] = {x};
  QuantizeBlocks(values, to, row, block, true);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_QUANTIZE_H_
