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

// Asks for the first share of this block: its first thread's ticket, which takes a while to come.
BERTH_CARD_ONLY uint32_t AskForShare(const ProductArgs& a) {
  return a.turns != nullptr && ThreadIndex() == 0 ? AtomicAdd(a.turns, 1) : 0;
}
// That share; a launch without sums has one for every block. Synchronizes; `word` is not to be
// written again before the block has synchronized once more.
BERTH_CARD_ONLY uint32_t TakeShare(const ProductArgs& a, uint32_t* word, uint32_t ticket) {
  if (ThreadIndex() == 0) *word = ticket;
  SyncBlock();
  return a.turns == nullptr ? BlockIndex() : *word;
}

BERTH_CARD_ONLY uint32_t TakeShare(const ProductArgs& a, uint32_t* word) {
  return TakeShare(a, word, AskForShare(a));
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
  return *word;
}

// By a thread: until another block has made *at `least` or more.
BERTH_CARD_ONLY void WaitUntil(const ProductArgs& a, const uint32_t* at, uint32_t least) {
  // More than seconds, where microseconds are usual: the card is no longer itself, and a graph has
  // to drain all the same.
  constexpr uint32_t kMostPolls = 1u << 26;
  uint32_t polls = 0;
  while (Poll(at) < least && ++polls < kMostPolls) Pause();
  if (polls == kMostPolls && a.failed_unit != nullptr) *a.failed_unit = kCardGaveUp;
}
// Until every share has ended.
BERTH_CARD_ONLY void WaitForShares(const ProductArgs& a) {
  if (ThreadIndex() == 0) {
    WaitUntil(a, a.turns + 1, GridBlocks());
    Fence();
  }
  SyncBlock();
}
// Nothing is waited for any more. Where no launch before sets turns and flags to zero, the last
// block to come here does. By the last warp, which has least to sum.
BERTH_CARD_ONLY void LeaveShares(const ProductArgs& a) {
  if (ThreadIndex() / kWarp + 1 != BlockThreads() / kWarp) return;
  const uint32_t left = Lane() == 0 ? AtomicAdd(a.turns + 2, 1) + 1 : 0;
  if (FromLane(left, 0) != GridBlocks()) return;
  for (uint32_t share = Lane(); share < GridBlocks(); share += kWarp) a.flags[share] = 0;
  if (Lane() < 3) a.turns[Lane()] = 0;
}

// Of pairs in a row, a lane each: which are somebody's, and the lane's weight.
struct PairWeights {
  uint32_t there = 0;
  float weight = 1;
};
// Up to kCount pairs of a row of the call from its `first` on; by a warp.
template <uint32_t kCount>
BERTH_CARD_ONLY PairWeights WeightsOf(const ProductArgs& a, uint32_t row, uint32_t first) {
  static_assert(kCount <= kWarp);
  const uint32_t k = first + Lane(), pair = row * a.top_k + k;
  const bool is = Lane() < kCount && k < a.top_k;
  // Both asked for together.
  const int32_t id = is ? LoadShared(a.ids + pair) : kNoExpert;
  const float weight = !is || a.weights_before ? 1.0f : LoadShared(a.weights + pair);
  return {Ballot(id >= 0 && static_cast<uint32_t>(id) < a.experts), weight};
}

// y of a row, by a warp, kCols columns a lane from `col` on: products and sums rounded one by one,
// k ascending. kFours: a lane's columns lie in a row, at a multiple of 16 bytes. `pairs`: the
// first ones.
template <uint32_t kCols, uint32_t kAtOnce, bool kFours>
BERTH_CARD_ONLY void SumColumns(const ProductArgs& a, uint32_t row, uint32_t col,
                                PairWeights pairs) {
  static_assert(!kFours || kCols == 4);
  const uint32_t at = col + (kFours ? 4 : 1) * Lane();
  float sums[kCols] = {};
  BERTH_NO_UNROLL
  for (uint32_t first = 0; first < a.top_k; first += kAtOnce) {
    if (first != 0) pairs = WeightsOf<kAtOnce>(a, row, first);
    const float* from = a.partials + (static_cast<size_t>(row) * a.top_k + first) * a.rows + at;
    float values[kAtOnce][kCols] = {};
    BERTH_UNROLL
    for (uint32_t k = 0; k < kAtOnce; ++k, from += a.rows) {
      if ((pairs.there >> k & 1) == 0) continue;
      if constexpr (kFours) {
        if (at < a.rows) LoadSharedFour(from, values[k]);
      } else {
        BERTH_UNROLL
        for (uint32_t i = 0; i < kCols; ++i) {
          if (at + i * kWarp < a.rows) values[k][i] = LoadShared(from + i * kWarp);
        }
      }
    }
    BERTH_UNROLL
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const float times = FromLane(pairs.weight, k);
      if ((pairs.there >> k & 1) == 0) continue;
      BERTH_UNROLL
      for (uint32_t i = 0; i < kCols; ++i) sums[i] = Add(sums[i], Mul(times, values[k][i]));
    }
  }
  float* const y = a.y + static_cast<size_t>(row) * a.rows + at;
  BERTH_UNROLL
  for (uint32_t i = 0; i < kCols; ++i) sums[i] = Canonical(sums[i]);
  if constexpr (kFours) {
    if (at < a.rows) StoreFour(y, sums[0], sums[1], sums[2], sums[3]);
  } else {
    BERTH_UNROLL
    for (uint32_t i = 0; i < kCols; ++i) {
      if (at + i * kWarp < a.rows) y[i * kWarp] = sums[i];
    }
  }
}

// Waits for all shares. What does not depend on them is asked for before.
template <bool kLeaves, uint32_t kCols, uint32_t kAtOnce, bool kFours = false>
BERTH_CARD_ONLY void SumRows(const ProductArgs& a) {
  const uint32_t apart = GridBlocks() * (BlockThreads() / kWarp);
  const uint32_t parts = (a.rows + kCols * kWarp - 1) / (kCols * kWarp);
  const uint32_t count = a.x_rows * parts;
  uint32_t i = BlockIndex() + GridBlocks() * (ThreadIndex() / kWarp);
  PairWeights pairs;
  if (i < count) pairs = WeightsOf<kAtOnce>(a, i / parts, 0);
  WaitForShares(a);
  if constexpr (kLeaves) LeaveShares(a);
  BERTH_NO_UNROLL
  while (i < count) {
    SumColumns<kCols, kAtOnce, kFours>(a, i / parts, i % parts * kCols * kWarp, pairs);
    i += apart;
    if (i < count) pairs = WeightsOf<kAtOnce>(a, i / parts, 0);
  }
}

// This block's part of y, once every share has ended. kLeaves: LeaveShares.
template <bool kLeaves = false>
BERTH_CARD_ONLY void SumShares(const ProductArgs& a) {
  if (a.turns == nullptr) return;
  // Few columns a warp where there are warps enough.
  if (a.x_rows * ((a.rows + kWarp - 1) / kWarp) <= GridBlocks() * (BlockThreads() / kWarp)) {
    SumRows<kLeaves, 1, kDirect ? 5 : 10>(a);
  } else if (!kDirect && a.rows % 4 == 0 && IsWhole16(a.partials) && IsWhole16(a.y)) {
    SumRows<kLeaves, 4, 10, true>(a);
  } else {
    SumRows<kLeaves, 4, kDirect ? 2 : 4>(a);
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_SHARES_H_
