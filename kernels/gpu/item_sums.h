// An item's products: eight weight rows out of a warp's stages with the inputs of some pairs.
#ifndef BERTH_KERNELS_GPU_ITEM_SUMS_H_
#define BERTH_KERNELS_GPU_ITEM_SUMS_H_

#include "kernels/gpu/row_stages.h"

namespace berth::kernels::gpu {

// Two items at once, where a row's last blocks are too few for all four lanes: half of these take
// those of one item, half of them the other's. Not out of two stages: no copy would be under way.
template <typename F, uint32_t kRows>
inline constexpr uint32_t kItemsAtOnce = kRows <= 2 && F::kElements == 32 ? 2 : 1;
inline constexpr uint32_t kHalfRound = 4;  // blocks of two lanes
template <typename F, uint32_t kRows>
BERTH_CARD_ONLY bool TakesTwoItems(const ProductArgs& a) {
  return kItemsAtOnce<F, kRows> == 2 && a.cols / 32 % 8 == kHalfRound && a.depth > 2 &&
         a.chunk_cols >= a.cols;
}

template <uint32_t kRows>
BERTH_CARD_ONLY RowInputs<kRows> InputsAt(const ByteRows& bytes, const uint32_t (&inputs)[kRows],
                                          uint32_t col) {
  RowInputs<kRows> rows;
  rows.bytes = bytes;
  BERTH_UNROLL
  for (uint32_t n = 0; n < kRows; ++n) rows.offsets[n] = inputs[n] + col;
  return rows;
}

// The last blocks of two items whose rows are `first` and `second`, behind `blocks` of each.
template <typename F, uint32_t kRows>
BERTH_CARD_ONLY void AddHalfRounds(const uint8_t* first, const uint8_t* second, uint32_t blocks,
                                   uint32_t odd, const CardTable& table,
                                   const RowInputs<kRows>& rows, float (&sums)[2][kRows][2]) {
  const bool is_second = Lane() / 16 != 0;
  float own[kRows][2];
  BERTH_UNROLL
  for (uint32_t n = 0; n < kRows; ++n) {
    BERTH_UNROLL
    for (uint32_t h = 0; h < 2; ++h) {
      const float other = LaneXor(sums[1][n][h], 16u);
      own[n][h] = is_second ? other : sums[0][n][h];
    }
  }
  AddRow<F, kRows>((is_second ? second : first) + blocks * F::kBytes, Lane() / 8 % 2, kHalfRound,
                   odd, table, rows, own);
  BERTH_UNROLL
  for (uint32_t n = 0; n < kRows; ++n) {
    BERTH_UNROLL
    for (uint32_t h = 0; h < 2; ++h) {
      const float other = LaneXor(own[n][h], 16u);
      if (is_second) continue;
      sums[0][n][h] = own[n][h];
      sums[1][n][h] = other;
    }
  }
}

// All columns of an item, or of two (TakesTwoItems), with kRows pairs; `inputs`: where the pairs'
// begin in `bytes`, by columns, of pairs of the lane's row.
template <typename F, uint32_t kRows, typename Items>
BERTH_CARD_ONLY void AddItems(const ProductArgs& a, const ByteRows& bytes, const CardTable& table,
                              const Items& items, uint32_t count, const uint32_t (&inputs)[kRows],
                              RowStages<F>* stages,
                              float (&sums)[kItemsAtOnce<F, kRows>][kRows][2]) {
  BERTH_NO_UNROLL
  for (uint32_t col = 0; col < a.cols; col += a.chunk_cols) {
    const uint32_t left = a.cols - col;
    const uint32_t blocks = (left < a.chunk_cols ? left : a.chunk_cols) / 32;
    const RowInputs<kRows> rows = InputsAt(bytes, inputs, col);
    const uint8_t* row = stages->Wait(col);
    const uint32_t odd = (SharedAddress(row) >> 1) & 1;
    if constexpr (kItemsAtOnce<F, kRows> == 1) {
      AddRow<F, kRows>(row, Lane() / 8, blocks, odd, table, rows, sums[0]);
      stages->Next(items);
    } else {
      const uint32_t alone = count == 2 ? blocks - kHalfRound : blocks;
      const uint8_t* const first = row;
      BERTH_NO_UNROLL
      for (uint32_t i = 0;;) {
        AddRow<F, kRows>(row, Lane() / 8, alone, odd, table, rows, sums[0]);
        if (++i == count) break;
        BERTH_UNROLL
        for (uint32_t n = 0; n < kRows; ++n) {
          BERTH_UNROLL
          for (uint32_t h = 0; h < 2; ++h) {
            sums[1][n][h] = sums[0][n][h];
            sums[0][n][h] = 0;
          }
        }
        row = stages->WaitForNext();
      }
      // The first item's sums are behind the second's.
      if (count == 2) {
        AddHalfRounds<F, kRows>(row, first, alone, odd, table, InputsAt(bytes, inputs, alone * 32),
                                sums);
      }
      BERTH_NO_UNROLL
      for (uint32_t i = 0; i < count; ++i) stages->Next(items);
    }
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
