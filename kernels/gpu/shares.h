// Shares of a launch, and the weighted sum that needs all of them.
//
// The work of a launch is cut into as many shares as it has blocks. Where sums follow, a block
// takes the next share that nobody has until none is left, and waits only then: so every share is
// with a block that is running, and that waits for nobody before its share has ended. The wait ends
// whatever else runs on the card and however few blocks fit.
#ifndef BERTH_KERNELS_GPU_SHARES_H_
#define BERTH_KERNELS_GPU_SHARES_H_

#include "kernels/gpu/card_elementwise.h"
#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

// All of these are called by the whole block.

// The first share of this block; a launch without sums has one for every block.
BERTH_CARD_ONLY uint32_t TakeShare(const ProductArgs& a, uint32_t* word) {
  if (a.turns == nullptr) return BlockIndex();
  if (ThreadIndex() == 0) *word = AtomicAdd(a.turns, 1);
  SyncBlock();
  const uint32_t share = *word;
  SyncBlock();
  return share;
}

// Its partials have been stored; the next one, GridBlocks() or more where there is none.
BERTH_CARD_ONLY uint32_t EndShare(const ProductArgs& a, uint32_t* word) {
  if (a.turns == nullptr) return GridBlocks();
  SyncBlock();
  if (ThreadIndex() == 0) {
    const uint32_t next = AtomicAdd(a.turns, 1);  // under way while the others' stores are
    Fence();
    AtomicAdd(a.turns + 1, 1);
    *word = next;
  }
  SyncBlock();
  const uint32_t share = *word;
  SyncBlock();
  return share;
}

BERTH_CARD_ONLY bool IsWhole16(const float* at) {
  return (reinterpret_cast<uintptr_t>(at) & 15) == 0;
}

// y of a row, by a warp, kCols columns a lane from `col` on: products and sums rounded one by one,
// k ascending.
template <uint32_t kCols, uint32_t kAtOnce>
BERTH_CARD_ONLY void SumColumns(const ProductArgs& a, uint32_t row, uint32_t col) {
  float sums[kCols] = {};
  BERTH_NO_UNROLL
  for (uint32_t first = 0; first < a.top_k; first += kAtOnce) {
    bool there[kAtOnce];
    float weights[kAtOnce], values[kAtOnce][kCols];
    BERTH_UNROLL
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const uint32_t pair = row * a.top_k + first + k;
      // All asked for together: of pairs that are nobody's whatever lies there.
      const bool is = first + k < a.top_k;
      const int32_t id = is ? a.ids[pair] : kNoExpert;
      there[k] = id >= 0 && static_cast<uint32_t>(id) < a.experts;
      weights[k] = !is || a.weights_before ? 1.0f : a.weights[pair];
      const float* from = a.partials + static_cast<size_t>(pair) * a.rows + col + Lane();
      BERTH_UNROLL
      for (uint32_t i = 0; i < kCols; ++i, from += kWarp) {
        values[k][i] = is && col + i * kWarp + Lane() < a.rows ? LoadShared(from) : 0.0f;
      }
    }
    BERTH_UNROLL
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      BERTH_UNROLL
      for (uint32_t i = 0; i < kCols; ++i) {
        if (there[k]) sums[i] = Add(sums[i], Mul(weights[k], values[k][i]));
      }
    }
  }
  BERTH_UNROLL
  for (uint32_t i = 0; i < kCols; ++i) {
    const uint32_t at = col + i * kWarp + Lane();
    if (at < a.rows) a.y[static_cast<size_t>(row) * a.rows + at] = Canonical(sums[i]);
  }
}

// The same of four columns in a row a lane, which are loaded together; places of four are at
// multiples of 16. A lane finds out for all about one pair.
template <uint32_t kAtOnce>
BERTH_CARD_ONLY void SumFours(const ProductArgs& a, uint32_t row, uint32_t col) {
  const uint32_t lane = Lane();
  const bool has_columns = col + 4 * lane < a.rows;
  float sums[4] = {};
  for (uint32_t first = 0; first < a.top_k; first += kAtOnce) {
    const uint32_t pair = row * a.top_k + first;
    const int32_t id = lane < kAtOnce && first + lane < a.top_k ? a.ids[pair + lane] : kNoExpert;
    const bool there = id >= 0 && static_cast<uint32_t>(id) < a.experts;
    const float weight = !there || a.weights_before ? 1.0f : a.weights[pair + lane];
    const uint32_t pairs = Ballot(there);
    const float* const from = a.partials + static_cast<size_t>(pair) * a.rows + col + 4 * lane;
    float values[kAtOnce][4] = {};
    BERTH_UNROLL
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      if (has_columns && (pairs >> k & 1) != 0) {
        LoadSharedFour(from + static_cast<size_t>(k) * a.rows, values[k]);
      }
    }
    BERTH_UNROLL
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const float times = FromLane(weight, k);
      if ((pairs >> k & 1) == 0) continue;
      BERTH_UNROLL
      for (uint32_t i = 0; i < 4; ++i) sums[i] = Add(sums[i], Mul(times, values[k][i]));
    }
  }
  if (!has_columns) return;
  StoreFour(a.y + static_cast<size_t>(row) * a.rows + col + 4 * lane, Canonical(sums[0]),
            Canonical(sums[1]), Canonical(sums[2]), Canonical(sums[3]));
}

template <uint32_t kCols, uint32_t kAtOnce, bool kFours = false>
BERTH_CARD_ONLY void SumRows(const ProductArgs& a) {
  static_assert(!kFours || kCols == 4);
  const uint32_t warps = BlockThreads() / kWarp;
  const uint32_t parts = (a.rows + kCols * kWarp - 1) / (kCols * kWarp);
  for (uint32_t i = BlockIndex() + GridBlocks() * (ThreadIndex() / kWarp); i < a.x_rows * parts;
       i += GridBlocks() * warps) {
    const uint32_t row = i / parts, col = i % parts * kCols * kWarp;
    if constexpr (kFours) {
      SumFours<kAtOnce>(a, row, col);
    } else {
      SumColumns<kCols, kAtOnce>(a, row, col);
    }
  }
}

// This block's part of y, once every share has ended.
BERTH_CARD_ONLY void SumShares(const ProductArgs& a) {
  if (a.turns == nullptr) return;
  if (ThreadIndex() == 0) {
    // More than seconds, where microseconds are usual: the card is no longer itself, and a graph
    // has to drain all the same.
    constexpr uint32_t kMostPolls = 1u << 26;
    uint32_t polls = 0;
    while (Poll(a.turns + 1) < GridBlocks() && ++polls < kMostPolls) Pause();
    if (polls == kMostPolls && a.failed_unit != nullptr) *a.failed_unit = kCardGaveUp;
    Fence();
  }
  SyncBlock();
  // Few columns a warp where there are warps enough.
  if (a.x_rows * ((a.rows + kWarp - 1) / kWarp) <= GridBlocks() * (BlockThreads() / kWarp)) {
    SumRows<1, 5>(a);
  } else if (!kDirect && a.rows % 4 == 0 && IsWhole16(a.partials) && IsWhole16(a.y)) {
    SumRows<4, 10, true>(a);
  } else {
    SumRows<4, kDirect ? 2 : 4>(a);
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_SHARES_H_
