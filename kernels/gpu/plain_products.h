// Products of four weight rows with up to four activation rows, by one warp: eight lanes a weight
// row, one for each running sum, which takes every eighth block of 32. Bytes come as they lie.
#ifndef BERTH_KERNELS_GPU_PLAIN_PRODUCTS_H_
#define BERTH_KERNELS_GPU_PLAIN_PRODUCTS_H_

#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/dot_steps.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

inline constexpr uint32_t kPlainRows = 4;   // weight rows of a warp
inline constexpr uint32_t kPlainPairs = 4;  // activation rows at a time

struct PlainCall {
  const uint8_t* row = nullptr;  // the lane's weight row
  uint32_t cols = 0;
  CardTable table;
  const ByteRows* bytes = nullptr;
  const float* x = nullptr;      // [rows][cols]
  uint32_t inputs[kPlainPairs];  // rows of these
};

template <typename F>
BERTH_CARD_ONLY void PlainSums(const PlainCall& call, float (&sums)[kPlainPairs]) {
  constexpr uint32_t kParts = F::kElements / 32;
  const ByteRows& rows = *call.bytes;
  const uint32_t blocks = call.cols / 32;
  for (uint32_t b = Lane() % 8; b < blocks; b += 8) {
    const uint8_t* const at = call.row + static_cast<size_t>(b / kParts) * F::kBytes;
    uint32_t w[8];
    F::template Words<Reading::kBytes>(at, b % kParts, call.table, w);
    BlockScales scales;
    F::template Scales<Reading::kBytes>(at, b % kParts, &scales);
    const BlockFactors<F> factors(scales);
    for (uint32_t n = 0; n < kPlainPairs; ++n) {
      const size_t first = static_cast<size_t>(call.inputs[n]) * (rows.stride / 32);
      const size_t block = first + b;
      const auto* const words =
          reinterpret_cast<const uint32_t*>(rows.q + (first + PlaceApart(b)) * 32);
      uint32_t q[8];
      for (uint32_t i = 0; i < 8; ++i) q[i] = words[i];
      factors.Step(DotBlock<F>(w, q), rows.d[block], rows.s + block, rows.halves + 2 * block,
                   &sums[n]);
    }
  }
}

// F16 and BF16: weights as they are with inputs as they are, the columns of a block one by one.
template <float (*kToFloat)(uint32_t)>
BERTH_CARD_ONLY void PlainFloatSums(const PlainCall& call, float (&sums)[kPlainPairs]) {
  for (uint32_t first = Lane() % 8 * 32; first < call.cols; first += 256) {
    const uint32_t end = first + 32 < call.cols ? first + 32 : call.cols;
    for (uint32_t col = first; col < end; ++col) {
      const uint32_t low = call.row[2 * col], high = call.row[2 * col + 1];
      const float weight = kToFloat(low | high << 8);
      for (uint32_t n = 0; n < kPlainPairs; ++n) {
        const float x = call.x[static_cast<size_t>(call.inputs[n]) * call.cols + col];
        sums[n] = Fma(weight, x, sums[n]);
      }
    }
  }
}

// The eight sums as one, in every lane of the weight row: 4 apart, then 2, then 1.
BERTH_CARD_ONLY float SumOfEight(float sum) {
  sum = Add(sum, LaneXor(sum, 4u));
  sum = Add(sum, LaneXor(sum, 2u));
  return Canonical(Add(sum, LaneXor(sum, 1u)));
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_PLAIN_PRODUCTS_H_
