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
    Fence();
    AtomicAdd(a.turns + 1, 1);
    *word = AtomicAdd(a.turns, 1);
  }
  SyncBlock();
  const uint32_t share = *word;
  SyncBlock();
  return share;
}

// The tiles of a list's units [first, end) that share `share` has, to[0] up to to[1], where shares
// are of like work. `tiles`: of a unit. Synchronizes in front and behind.
BERTH_CARD_ONLY void FindTiles(const CardUnit* units, uint32_t first, uint32_t end, uint32_t tiles,
                               uint32_t share, uint32_t* to) {
  SyncBlock();
  const uint32_t base = first < end ? units[first].work : 0;
  const uint32_t all = first < end ? units[end - 1].work + UnitWork(units[end - 1].count) : 0;
  for (uint32_t at = first + ThreadIndex(); at < end; at += BlockThreads()) {
    const uint32_t before = units[at].work;
    const uint32_t behind = at + 1 < end ? units[at + 1].work : all;
    // In parts of one.
    const uint64_t begins = uint64_t{before - base} * GridBlocks();
    const uint64_t own = uint64_t{behind - before} * GridBlocks();
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint64_t wanted = uint64_t{share + i} * (all - base);
      if (wanted < begins || wanted >= begins + own) continue;
      to[i] = at * tiles + static_cast<uint32_t>((wanted - begins) * tiles / own);
    }
  }
  if (ThreadIndex() == 0) {
    if (first == end) to[0] = end * tiles;
    if (first == end || share + 1 == GridBlocks()) to[1] = end * tiles;
  }
  SyncBlock();
}

// y of a row, by a warp, kCols columns a lane from `col` on: products and sums rounded one by one,
// k ascending.
template <uint32_t kCols, uint32_t kAtOnce>
BERTH_CARD_ONLY void SumColumns(const ProductArgs& a, uint32_t row, uint32_t col) {
  float sums[kCols] = {};
  for (uint32_t first = 0; first < a.top_k; first += kAtOnce) {
    bool there[kAtOnce];
    float weights[kAtOnce], values[kAtOnce][kCols];
    BERTH_UNROLL
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const uint32_t pair = row * a.top_k + first + k;
      const int32_t id = first + k < a.top_k ? a.ids[pair] : kNoExpert;
      there[k] = id >= 0 && static_cast<uint32_t>(id) < a.experts;
      weights[k] = !there[k] || a.weights_before ? 1.0f : a.weights[pair];
      const float* from = a.partials + static_cast<size_t>(pair) * a.rows + col + Lane();
      BERTH_UNROLL
      for (uint32_t i = 0; i < kCols; ++i, from += kWarp) {
        values[k][i] = there[k] && col + i * kWarp + Lane() < a.rows ? LoadShared(from) : 0.0f;
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

template <uint32_t kCols, uint32_t kAtOnce>
BERTH_CARD_ONLY void SumRows(const ProductArgs& a) {
  const uint32_t warps = BlockThreads() / kWarp;
  const uint32_t parts = (a.rows + kCols * kWarp - 1) / (kCols * kWarp);
  for (uint32_t i = BlockIndex() + GridBlocks() * (ThreadIndex() / kWarp); i < a.x_rows * parts;
       i += GridBlocks() * warps) {
    SumColumns<kCols, kAtOnce>(a, i / parts, i % parts * kCols * kWarp);
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
  } else {
    SumRows<4, kDirect ? 2 : 4>(a);
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_SHARES_H_
