// The running sums of 16 weight rows with up to 32 activation rows, by four warps with matrix
// instructions: warp p takes blocks 2 p and 2 p + 1 of every eight, as lanes do in row_sums.h.
#ifndef BERTH_KERNELS_GPU_MATRIX_SUMS_H_
#define BERTH_KERNELS_GPU_MATRIX_SUMS_H_

#include "kernels/gpu/dot_steps.h"
#include "kernels/gpu/matrix_code.h"
#include "kernels/gpu/row_sums.h"

namespace berth::kernels::gpu {

// Activation rows, eight to a column tile, by their offsets in columns: of row g, whose values the
// lane holds, and of rows 2 t and 2 t + 1, whose results it gets.
template <uint32_t kTiles>
struct MatrixInputs {
  ByteRows bytes;
  uint32_t values[kTiles];
  uint32_t results[kTiles][2];
};

// Of one of the lane's column tiles and one of its two blocks.
using MatrixSum = float[4];

// A lane's weights of a block: as MatrixDot wants them.
struct MatrixWeights {
  uint32_t a[4];
};

// Weights and factors of one block of the lane's two weight rows.
template <typename F, Reading kHow>
BERTH_CARD_ONLY void LoadMatrixBlock(const uint8_t* const (&at)[2], uint32_t sub,
                                     const CardTable& table, MatrixWeights* weights,
                                     BlockScales (&scales)[2]) {
  BERTH_UNROLL
  for (uint32_t i = 0; i < 2; ++i) {
    uint32_t words[2];
    F::template Pair<kHow>(at[i], sub, Lane() % 4, table, words);
    weights->a[i] = words[0];
    weights->a[2 + i] = words[1];
    F::template Scales<kHow>(at[i], sub, &scales[i]);
  }
}

// Block `block`, number kBlock of the lane's two.
template <typename F, uint32_t kTiles, uint32_t kBlock>
BERTH_CARD_ONLY void AddMatrixBlock(const MatrixWeights& weights, const BlockScales (&scales)[2],
                                    const MatrixInputs<kTiles>& rows, uint32_t block,
                                    MatrixSum (&sums)[kTiles][2]) {
  const BlockFactors<F> factors[2] = {BlockFactors<F>(scales[0]), BlockFactors<F>(scales[1])};
  constexpr auto kStart = static_cast<int32_t>(kRoundBits);
  const uint32_t t = Lane() % 4;
  BERTH_UNROLL
  for (uint32_t n = 0; n < kTiles; ++n) {
    const auto* const q =
        reinterpret_cast<const uint32_t*>(rows.bytes.q + rows.values[n] + PlaceApart(block) * 32);
    int32_t c[2][4];
    if constexpr (kTwoSums<F>) {
      MatrixDot(c[0], weights.a[0], weights.a[1], q[t], kStart);
      MatrixDot(c[1], weights.a[2], weights.a[3], q[4 + t], kStart);
    } else {
      const auto pair = *reinterpret_cast<const TwoWords*>(q + 2 * t);
      MatrixDot(c[0], weights.a, pair.words, kStart);
    }
    BERTH_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t at = rows.results[n][i % 2] / 32 + block;
      BlockSums<F> dots;
      dots.sum[0] = c[0][i];
      if constexpr (kTwoSums<F>) dots.sum[1] = c[1][i];
      factors[i / 2].Step(dots, rows.bytes.d[at], rows.bytes.s + at, rows.bytes.halves + 2 * at,
                          &sums[n][kBlock][i]);
    }
  }
}

template <typename F, Reading kHow, uint32_t kTiles>
BERTH_CARD_ONLY void AddMatrixPair(const uint8_t* const (&row)[2], uint32_t block, uint32_t blocks,
                                   const CardTable& table, const MatrixInputs<kTiles>& rows,
                                   MatrixSum (&sums)[kTiles][2]) {
  constexpr uint32_t kParts = F::kElements / 32;
  const uint32_t from = block / kParts * F::kBytes;
  const uint8_t* const at[2] = {row[0] + from, row[1] + from};
  MatrixWeights weights;
  BlockScales scales[2];
  LoadMatrixBlock<F, kHow>(at, block % kParts, table, &weights, scales);
  AddMatrixBlock<F, kTiles, 0>(weights, scales, rows, block, sums);
  if constexpr (F::kElements == 32) {
    if (block + 1 >= blocks) return;
    const uint8_t* const next[2] = {at[0] + F::kBytes, at[1] + F::kBytes};
    LoadMatrixBlock<F, After(kHow, F::kBytes)>(next, 0, table, &weights, scales);
  } else {
    LoadMatrixBlock<F, kHow>(at, block % kParts + 1, table, &weights, scales);
  }
  AddMatrixBlock<F, kTiles, 1>(weights, scales, rows, block + 1, sums);
}

// `row`: the lane's two weight rows, in shared memory, aligned as for AddRow.
template <typename F, uint32_t kTiles>
BERTH_CARD_ONLY void AddMatrixRows(const uint8_t* const (&row)[2], uint32_t pair, uint32_t blocks,
                                   uint32_t odd, const CardTable& table,
                                   const MatrixInputs<kTiles>& rows, MatrixSum (&sums)[kTiles][2]) {
  BERTH_NO_UNROLL
  for (uint32_t block = 2 * pair; block < blocks; block += 8) {
    if constexpr (kLie<F> == Lie::kAny) {
      AddMatrixPair<F, Reading::kBytes, kTiles>(row, block, blocks, table, rows, sums);
    } else if constexpr (kLie<F> == Lie::kWords) {
      AddMatrixPair<F, Reading::kWords, kTiles>(row, block, blocks, table, rows, sums);
    } else {
      const uint32_t shift = kLie<F> == Lie::kAlternate ? block / 8 : 0;
      if (((shift ^ odd) & 1) != 0) {
        AddMatrixPair<F, Reading::kHalves, kTiles>(row, block, blocks, table, rows, sums);
      } else {
        AddMatrixPair<F, Reading::kWords, kTiles>(row, block, blocks, table, rows, sums);
      }
    }
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_MATRIX_SUMS_H_
