// The tuned kernel of a format for few rows: products by integer dot instructions.
//
// A warp takes tiles of 8 weight rows (tile_stages.h), four lanes a row (row_sums.h), out of stages
// of its own (staging.h). Tiles go round the blocks first and the warps of a block second, so that
// blocks differ by one tile at most. Where units of many rows are about, their tiles come first
// (wide_kernel.h).
#ifndef BERTH_KERNELS_GPU_DOT_KERNEL_H_
#define BERTH_KERNELS_GPU_DOT_KERNEL_H_

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/tile_stages.h"
#include "kernels/gpu/wide_kernel.h"

namespace berth::kernels::gpu {

template <typename F>
class DotWarp {
 public:
  BERTH_CARD_ONLY DotWarp(const ProductArgs& a, uint8_t* stages, uint64_t* barriers,
                          const CardTable& table)
      : a_(a), stages_(a, stages, barriers, true), table_(table) {}

  // Asks for the first weights, if it is known which they are.
  BERTH_CARD_ONLY void Begin() {
    first_ = BlockIndex() + GridBlocks() * (ThreadIndex() / kWarp);
    step_ = GridBlocks() * (BlockThreads() / kWarp);
    if constexpr (kDirect) return;
    const EarlyUnits early(a_);
    begun_ = early.count() != 0;
    count_ = early.count() * stages_.tiles();
    if (begun_) FillAll(&early);
  }

  // The units of the list from `first_unit` on, as the `block`th block; both 0 and the block's own
  // after Begin.
  BERTH_CARD_ONLY void Run(uint32_t first_unit, uint32_t block) {
    if (!begun_) {
      first_ = first_unit * stages_.tiles() + block + GridBlocks() * (ThreadIndex() / kWarp);
      step_ = GridBlocks() * (BlockThreads() / kWarp);
      count_ = *a_.list.unit_count * stages_.tiles();
    }
    if constexpr (kDirect) {
      for (uint32_t number = first_; number < count_; number += step_) {
        Take(stages_.Find(number, nullptr), 0);
      }
      return;
    }
    if (!begun_) FillAll(nullptr);
    uint32_t stage = 0, fill = 0;
    for (uint32_t number = first_; number < count_; number += step_) {
      const Tile tile = stages_.Find(number, nullptr);
      stages_.Wait(stage, fill);
      Take(tile, stage);
      SyncWarp();
      stages_.Fill(number + a_.depth * step_, count_, stage, nullptr);
      stage = stage + 1 < a_.depth ? stage + 1 : 0;
      fill += stage == 0 ? 1 : 0;
    }
  }

 private:
  BERTH_CARD_ONLY void FillAll(const EarlyUnits* early) {
    for (uint32_t i = 0; i < a_.depth; ++i) stages_.Fill(first_ + i * step_, count_, i, early);
  }

  // All pairs of a tile's unit, the rows of one alignment after those of the other.
  BERTH_CARD_ONLY void Take(const Tile& tile, uint32_t stage) {
    const bool there = tile.first.from != nullptr;
    const uint32_t part = Lane() % 8 / kDotPartRows;
    const uint8_t* const rows = stages_.RowsOf(tile, part, stage);
    for (uint32_t pair = 0; pair < tile.unit.count; pair += kDotPairs) {
      const uint32_t left = tile.unit.count - pair;
      const uint32_t count = left < kDotPairs ? left : kDotPairs;
      const uint32_t place = tile.unit.first + pair + (Lane() < count ? Lane() : 0);
      const uint32_t of = a_.list.pairs[place];  // lane n: pair n
      for (uint32_t pass = 0; there && pass < a_.row_step; ++pass) {
        const uint32_t row = pass + a_.row_step * (Lane() % kDotPartRows);
        Chunk(tile, rows + row * stages_.row_stride(), part, row, pair, count,
              a_.down ? place : of / a_.top_k);
      }
      if (a_.down)
        PartialsStored(a_, of, count, tile.row, stages_.tile_rows(), stages_.tile_rows());
    }
    if (there && !a_.down)
      OutputsStored(a_, tile.unit_at, tile.unit, tile.row, stages_.tile_rows());
  }

  // `input`: lane n knows the activation row of pair n.
  BERTH_CARD_ONLY void Chunk(const Tile& tile, const uint8_t* weights, uint32_t part, uint32_t row,
                             uint32_t pair, uint32_t count, uint32_t input) {
    // Pairs Lane() / 8 and 4 more.
    float products[2] = {};
    if (count == 1) {
      Products<1>(weights, input, products);
    } else if (count == 2) {
      Products<2>(weights, input, products);
    } else if (kDotPairs == 4 || count <= 4) {
      Products<4>(weights, input, products);
    } else if constexpr (kDotPairs > 4) {
      Products<8>(weights, input, products);
    }
    const uint32_t self =
        tile.row + row + (a_.matrices == 2 || part == 0 ? 0 : stages_.part_rows());
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t n = Lane() / 8 + 4 * i;
      const float other = LaneXor(products[i], kDotPartRows);
      if (n >= count || self >= a_.rows) continue;
      const uint32_t place = tile.unit.first + pair + n;
      if (a_.down) {
        StorePartial(a_, tile.unit, a_.list.pairs[place], self, products[i]);
      } else if (a_.matrices == 1) {
        StoreActivation(a_, tile.unit, place, self, products[i], products[i]);
      } else if (part == 0) {
        StoreActivation(a_, tile.unit, place, self, products[i], other);
      }
    }
  }

  template <uint32_t kRows>
  BERTH_CARD_ONLY void Products(const uint8_t* weights, uint32_t input, float (&to)[2]) {
    RowInputs<kRows> rows;
    rows.bytes = a_.bytes;
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) rows.offsets[n] = FromLane(input, n) * a_.bytes.stride;
    const uint32_t odd = (SharedAddress(weights) >> 1) & 1;
    float sums[kRows][2] = {};
    AddRow<F, kRows>(weights, Lane() / 8, a_.cols / 32, odd, table_, rows, sums);
    SyncWarp();
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) {
      // 4 apart, 2 apart, 1 apart.
      BERTH_UNROLL
      for (uint32_t h = 0; h < 2; ++h) {
        sums[n][h] = Add(sums[n][h], LaneXor(sums[n][h], 16u));
        sums[n][h] = Add(sums[n][h], LaneXor(sums[n][h], 8u));
      }
      const float total = Canonical(Add(sums[n][0], sums[n][1]));
      if (Lane() / 8 == n % 4) to[n / 4] = total;
    }
  }

  const ProductArgs& a_;
  const TileStages<F, kDotPartRows> stages_;
  const CardTable table_;
  uint32_t count_ = 0;             // of tiles
  uint32_t first_ = 0, step_ = 0;  // of the warp's tiles
  bool begun_ = false;
};

template <typename F>
inline constexpr uint32_t kDotCopies = kTableCopies<F, kMostTableBytes>;

// Of this warp; `shared`: the table first, then stages and their barriers.
template <typename F>
BERTH_CARD_ONLY DotWarp<F> DotWarpOf(const ProductArgs& a, uint8_t* shared) {
  const uint32_t warp = ThreadIndex() / kWarp, warps = BlockThreads() / kWarp;
  uint8_t* const stages = shared + F::kTableWords * kDotCopies<F> * 4;
  auto* const barriers = reinterpret_cast<uint64_t*>(stages + 2 * warps * a.depth * a.part_bytes);
  return DotWarp<F>(a, stages + 2 * warp * a.depth * a.part_bytes, barriers + warp * a.depth,
                    TableOfLane<kDotCopies<F>>(reinterpret_cast<const uint32_t*>(shared)));
}

// Of few rows: no unit is wide.
template <typename F>
BERTH_KERNEL(kDotThreads, 1)
DotKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  auto* const table = reinterpret_cast<uint32_t*>(shared);
  DotWarp<F> self = DotWarpOf<F>(a, shared);
  self.Begin();
  if constexpr (kCopies > 0) {
    FillTableCopies<F, kCopies>(table);
    SyncBlock();
  }
  WaitForLastLaunch();
  NextLaunchMayStart();
  self.Run(0, BlockIndex());
}

// Of many rows: wide units (wide_kernel.h), then the others.
template <typename F>
BERTH_KERNEL(kDotThreads, 1)
WideKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  auto* const table = reinterpret_cast<uint32_t*>(shared);
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(table);
  WaitForLastLaunch();
  NextLaunchMayStart();
  SyncBlock();
  const uint32_t units = *a.list.wide_count;
  const uint32_t block =
      WideBlock<F>(a, shared + F::kTableWords * kCopies * 4, TableOfLane<kCopies>(table))
          .Run(units);
  DotWarpOf<F>(a, shared).Run(units, block);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_KERNEL_H_
