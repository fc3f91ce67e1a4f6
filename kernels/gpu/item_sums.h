// An item's products: eight weight rows out of a warp's stages with the inputs of some pairs.
#ifndef BERTH_KERNELS_GPU_ITEM_SUMS_H_
#define BERTH_KERNELS_GPU_ITEM_SUMS_H_

#include "kernels/gpu/row_stages.h"

namespace berth::kernels::gpu {

// All columns of an item, with kRows pairs; `inputs`: where the pairs' begin in `bytes`, by
// columns, of pairs of the lane's row.
template <typename F, uint32_t kRows, typename Items>
BERTH_CARD_ONLY void AddItem(const ProductArgs& a, const ByteRows& bytes, const CardTable& table,
                             const Items& items, const uint32_t (&inputs)[kRows],
                             RowStages<F>* stages, float (&sums)[kRows][2]) {
  constexpr uint32_t kAtOnce = kRows;
  BERTH_NO_UNROLL
  for (uint32_t col = 0; col < a.cols; col += a.chunk_cols) {
    const uint32_t left = a.cols - col;
    const uint32_t blocks = (left < a.chunk_cols ? left : a.chunk_cols) / 32;
    const uint8_t* const row = stages->Wait(col);
    const uint32_t odd = (SharedAddress(row) >> 1) & 1;
    BERTH_UNROLL
    for (uint32_t first = 0; first < kRows; first += kAtOnce) {
      RowInputs<kAtOnce> rows;
      rows.bytes = bytes;
      float own[kAtOnce][2];
      BERTH_UNROLL
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        rows.offsets[n] = inputs[first + n] + col;
        own[n][0] = sums[first + n][0];
        own[n][1] = sums[first + n][1];
      }
      AddRow<F, kAtOnce>(row, Lane() / 8, blocks, odd, table, rows, own);
      BERTH_UNROLL
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        sums[first + n][0] = own[n][0];
        sums[first + n][1] = own[n][1];
      }
    }
    stages->Next(items);
  }
}

// The product with pair first + Lane() / 8 (of fewer pairs than four: Lane() / 8 % kRows), of the
// lane's weight row (Lane() % 8).
template <uint32_t kRows>
BERTH_CARD_ONLY float ProductOf(float (&sums)[kRows][2], uint32_t first) {
  float product = 0;
  BERTH_UNROLL
  for (uint32_t n = 0; n < (kRows < 4 ? kRows : 4); ++n) {
    const float total = SumOfFourLanes(sums[first + n]);
    if (Lane() / 8 % kRows == n) product = total;
  }
  return product;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_ITEM_SUMS_H_
