// The eight running sums of a weight row with kRows activation rows, by four lanes: lane p takes
// blocks 2 p and 2 p + 1 of every eight, so all eight sums are the lanes' own until the end.
#ifndef BERTH_KERNELS_GPU_ROW_SUMS_H_
#define BERTH_KERNELS_GPU_ROW_SUMS_H_

#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/dot_steps.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

// How blocks of a format lie in a row that begins at a multiple of 4 (kWords) or 2 off (kHalves).
enum class Lie : uint8_t {
  kWords,      // every block at a multiple of 4
  kAlternate,  // every other block of 256
  kPairs,      // of two blocks of 32 the first does, the second does not
  kAny,
};
template <typename F>
constexpr Lie LieOf() {
  if (kDirect) return Lie::kAny;
  if (F::kBytes % 4 == 0) return Lie::kWords;
  if (F::kBytes % 2 == 0 && F::kElements == 256) return Lie::kAlternate;
  if (F::kBytes % 2 == 0 && F::kElements == 32) return Lie::kPairs;
  return Lie::kAny;
}
template <typename F>
inline constexpr Lie kLie = LieOf<F>();
// What rows begin at a multiple of, so that blocks lie as they say; weights that lie otherwise are
// moved as they come.
template <typename F>
inline constexpr uint32_t kRowAlign = kLie<F> == Lie::kAny     ? 1
                                      : kLie<F> != Lie::kWords ? 2
                                      : F::kBytes % 16 == 0    ? 16
                                      : F::kBytes % 8 == 0     ? 8
                                                               : 4;

// Rows of activations by their offsets in columns; bytes.q: moved by LaneApart.
template <uint32_t kRows>
struct RowInputs {
  ByteRows bytes;
  uint32_t offsets[kRows];
};
// Block 2 p + 8 i, the first of two of lane p, lies p blocks before its number (PlaceApart), the
// second one four behind the first.
BERTH_CARD int8_t* LaneApart(int8_t* q, uint32_t pair) { return q - 32 * pair; }

struct alignas(8) TwoFloats {
  float values[2];
};
struct alignas(16) FourFloats {
  float values[4];
};

// Blocks `block` (even) and the next of a row.
template <typename F, uint32_t kRows, uint32_t kBlocks>
BERTH_CARD_ONLY void AddBlocks(const uint32_t (&w)[2][8], const BlockScales (&scales)[2],
                               const RowInputs<kRows>& rows, uint32_t block,
                               float (&sums)[kRows][2]) {
  const BlockFactors<F> factors[2] = {BlockFactors<F>(scales[0]),
                                      BlockFactors<F>(scales[kBlocks - 1])};
  BERTH_UNROLL
  for (uint32_t n = 0; n < kRows; ++n) {
    const uint32_t at = rows.offsets[n] + block * 32;
    const auto* const q = reinterpret_cast<const FourWords*>(rows.bytes.q + at);
    const auto d = *reinterpret_cast<const TwoFloats*>(rows.bytes.d + at / 32);
    TwoFloats s = {};
    FourFloats halves = {};
    if constexpr (F::kKind.minima && F::kKind.halves) {
      halves = *reinterpret_cast<const FourFloats*>(rows.bytes.halves + at / 16);
    } else if constexpr (F::kKind.minima) {
      s = *reinterpret_cast<const TwoFloats*>(rows.bytes.s + at / 32);
    }
    BERTH_UNROLL
    for (uint32_t h = 0; h < kBlocks; ++h) {
      const FourWords low = q[8 * h], high = q[8 * h + 1];
      const uint32_t words[8] = {low.words[0],  low.words[1],  low.words[2],  low.words[3],
                                 high.words[0], high.words[1], high.words[2], high.words[3]};
      factors[h].Step(DotBlock<F>(w[h], words), d.values[h], s.values + h, halves.values + 2 * h,
                      &sums[n][h]);
    }
  }
}

template <typename F, Reading kHow, uint32_t kRows>
BERTH_CARD_ONLY void AddPair(const uint8_t* row, uint32_t block, const CardTable& table,
                             const RowInputs<kRows>& rows, float (&sums)[kRows][2]) {
  constexpr uint32_t kParts = F::kElements / 32;
  const uint8_t* const at = row + block / kParts * F::kBytes;
  uint32_t w[2][8];
  BlockScales scales[2];
  F::template WordsOfTwo<kHow>(at, block % kParts, table, w);
  F::template ScalesOfTwo<kHow>(at, block % kParts, scales);
  AddBlocks<F, kRows, 2>(w, scales, rows, block, sums);
}

// The last block of a row of formats of 32, where their number is odd.
template <typename F, Reading kHow, uint32_t kRows>
BERTH_CARD_ONLY void AddSingle(const uint8_t* row, uint32_t block, const CardTable& table,
                               const RowInputs<kRows>& rows, float (&sums)[kRows][2]) {
  const uint8_t* const at = row + block * F::kBytes;
  uint32_t w[2][8];
  BlockScales scales[2];
  F::template Words<kHow>(at, 0, table, w[0]);
  F::template Scales<kHow>(at, 0, &scales[0]);
  AddBlocks<F, kRows, 1>(w, scales, rows, block, sums);
}

template <typename F, Reading kHow, uint32_t kRows>
BERTH_CARD_ONLY void AddSmallBlocks(const uint8_t* row, uint32_t pair, uint32_t blocks,
                                    const CardTable& table, const RowInputs<kRows>& rows,
                                    float (&sums)[kRows][2]) {
  uint32_t block = 2 * pair;
  if constexpr (kRows == 1 && !kDirect) {
    // Two in a row as one piece of code, so that the second need not wait for the first.
    BERTH_NO_UNROLL
    for (; block + 9 < blocks; block += 16) {
      AddPair<F, kHow, kRows>(row, block, table, rows, sums);
      AddPair<F, kHow, kRows>(row, block + 8, table, rows, sums);
    }
    if (block + 1 < blocks) {
      AddPair<F, kHow, kRows>(row, block, table, rows, sums);
      block += 8;
    }
  } else {
    BERTH_NO_UNROLL
    for (; block + 1 < blocks; block += 8) AddPair<F, kHow, kRows>(row, block, table, rows, sums);
  }
  if constexpr (F::kElements == 32) {
    if (block < blocks) AddSingle<F, kHow, kRows>(row, block, table, rows, sums);
  }
}

// Blocks of 256, of which every other one begins at a multiple of 4: the first one where `odd` is
// 0.
template <typename F, uint32_t kRows>
BERTH_CARD_ONLY void AddAlternating(const uint8_t* row, uint32_t pair, uint32_t blocks,
                                    uint32_t odd, const CardTable& table,
                                    const RowInputs<kRows>& rows, float (&sums)[kRows][2]) {
  uint32_t block = 2 * pair;
  if constexpr (kRows == 1) {
    // Two in a row as one piece of code, so that the second need not wait for the first.
    if (odd != 0) {
      AddPair<F, Reading::kHalves, kRows>(row, block, table, rows, sums);
      block += 8;
    }
    BERTH_NO_UNROLL
    for (; block + 8 < blocks; block += 16) {
      AddPair<F, Reading::kWords, kRows>(row, block, table, rows, sums);
      AddPair<F, Reading::kHalves, kRows>(row, block + 8, table, rows, sums);
    }
    if (block < blocks) AddPair<F, Reading::kWords, kRows>(row, block, table, rows, sums);
  } else {
    BERTH_NO_UNROLL
    for (; block < blocks; block += 8) {
      if (((block / 8) ^ odd) & 1) {
        AddPair<F, Reading::kHalves, kRows>(row, block, table, rows, sums);
      } else {
        AddPair<F, Reading::kWords, kRows>(row, block, table, rows, sums);
      }
    }
  }
}

// The eight sums as one, in each of the row's four lanes: 4 apart, 2 apart, 1 apart.
BERTH_CARD_ONLY float SumOfFourLanes(float (&sums)[2]) {
  BERTH_UNROLL
  for (uint32_t h = 0; h < 2; ++h) {
    sums[h] = Add(sums[h], LaneXor(sums[h], 16u));
    sums[h] = Add(sums[h], LaneXor(sums[h], 8u));
  }
  return Canonical(Add(sums[0], sums[1]));
}

// `row`: in shared memory; every lane's is a multiple of 4 if `odd` is 0, else 2 off, or either
// where the format's blocks lie anyhow.
template <typename F, uint32_t kRows>
BERTH_CARD_ONLY void AddRow(const uint8_t* row, uint32_t pair, uint32_t blocks, uint32_t odd,
                            const CardTable& table, const RowInputs<kRows>& inputs,
                            float (&sums)[kRows][2]) {
  RowInputs<kRows> rows = inputs;
  rows.bytes.q = LaneApart(rows.bytes.q, pair);
  if constexpr (kLie<F> == Lie::kAlternate) {
    AddAlternating<F, kRows>(row, pair, blocks, odd, table, rows, sums);
  } else if constexpr (kLie<F> == Lie::kPairs) {
    if (odd != 0) {
      AddSmallBlocks<F, Reading::kHalves, kRows>(row, pair, blocks, table, rows, sums);
    } else {
      AddSmallBlocks<F, Reading::kWords, kRows>(row, pair, blocks, table, rows, sums);
    }
  } else {
    constexpr Reading kHow = kLie<F> == Lie::kAny ? Reading::kBytes
                             : kRowAlign<F> == 16 ? Reading::kSixteens
                             : kRowAlign<F> == 8  ? Reading::kEights
                                                  : Reading::kWords;
    AddSmallBlocks<F, kHow, kRows>(row, pair, blocks, table, rows, sums);
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_ROW_SUMS_H_
