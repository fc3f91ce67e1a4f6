// The tuned kernel of a format for many rows of a unit: products by matrix instructions, in the
// same arithmetic.
//
// A block of four warps takes tiles of 16 weight rows (tile_stages.h) with 32 activation rows at a
// time; each warp has two of the eight running sums of every product. In the end these meet in
// shared memory, 16 activation rows at a time.
#ifndef BERTH_KERNELS_GPU_MATRIX_KERNEL_H_
#define BERTH_KERNELS_GPU_MATRIX_KERNEL_H_

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/matrix_sums.h"
#include "kernels/gpu/shares.h"
#include "kernels/gpu/tile_stages.h"

namespace berth::kernels::gpu {

template <typename F>
class MatrixBlock {
 public:
  // `meeting`: kMatrixMeetingBytes of shared memory.
  BERTH_CARD_ONLY MatrixBlock(const ProductArgs& a, uint8_t* stages, uint64_t* barriers,
                              float* meeting, const CardTable& table)
      : a_(a),
        stages_(a, stages, barriers, ThreadIndex() < kWarp),
        meeting_(meeting),
        table_(table) {}

  // One share after the other.
  BERTH_CARD_ONLY void Run(uint32_t share) {
    const uint32_t count = *a_.list.unit_count * stages_.tiles();
    const bool fills = ThreadIndex() < kWarp;
    // Stages go on where the share before left them.
    for (uint32_t i = 0; fills && i < a_.depth; ++i) {
      stages_.Fill(share + i * GridBlocks(), count, (stage_ + i) % a_.depth);
    }
    for (uint32_t number = share; number < count; number += GridBlocks()) {
      const Tile tile = stages_.Find(number);
      if (fills || kBulkCopies) stages_.Wait(stage_, fill_);
      SyncBlock();
      Take(tile, stage_);
      SyncBlock();
      if (fills) stages_.Fill(number + a_.depth * GridBlocks(), count, stage_);
      stage_ = stage_ + 1 < a_.depth ? stage_ + 1 : 0;
      fill_ += stage_ == 0 ? 1 : 0;
    }
  }

 private:
  BERTH_CARD_ONLY void Take(const Tile& tile, uint32_t stage) {
    const bool there = tile.first.from != nullptr;
    const uint8_t* const rows[2] = {stages_.RowsOf(tile, 0, stage), stages_.RowsOf(tile, 1, stage)};
    for (uint32_t pair = 0; pair < tile.unit.count; pair += kMatrixPairs) {
      const uint32_t left = tile.unit.count - pair;
      const uint32_t count = left < kMatrixPairs ? left : kMatrixPairs;
      for (uint32_t pass = 0; there && pass < a_.row_step; ++pass) {
        if (count <= 8) {
          Products<1>(tile, rows, pass, pair, count);
        } else if (count <= 16) {
          Products<2>(tile, rows, pass, pair, count);
        } else {
          Products<4>(tile, rows, pass, pair, count);
        }
      }
    }
    if (there && !a_.down) {
      OutputsStoredByBlock(a_, tile.unit_at, tile.unit, tile.row, stages_.tile_rows(),
                           reinterpret_cast<uint32_t*>(meeting_));
    }
  }

  BERTH_CARD_ONLY uint32_t InputOf(uint32_t place) const {
    return (a_.down ? place : a_.list.pairs[place] / a_.top_k) * a_.bytes.stride;
  }

  template <uint32_t kTiles>
  BERTH_CARD_ONLY void Products(const Tile& tile, const uint8_t* const (&rows)[2], uint32_t pass,
                                uint32_t pair, uint32_t count) {
    const uint32_t g = Lane() / 4, t = Lane() % 4;
    MatrixInputs<kTiles> inputs;
    inputs.bytes = a_.bytes;
    const uint32_t first = tile.unit.first + pair;
    BERTH_UNROLL
    for (uint32_t n = 0; n < kTiles; ++n) {
      const auto place = [&](uint32_t of) { return first + (of < count ? of : 0); };
      inputs.values[n] = InputOf(place(8 * n + g));
      inputs.results[n][0] = InputOf(place(8 * n + 2 * t));
      inputs.results[n][1] = InputOf(place(8 * n + 2 * t + 1));
    }
    const uint32_t from = (pass + a_.row_step * g) * stages_.row_stride();
    const uint8_t* const row[2] = {rows[0] + from, rows[1] + from};
    const uint32_t odd = (SharedAddress(row[0]) >> 1) & 1;
    MatrixSum sums[kTiles][2] = {};
    const uint32_t warp = ThreadIndex() / kWarp;
    AddMatrixRows<F, kTiles>(row, warp, a_.cols / 32, odd, table_, inputs, sums);
    constexpr uint32_t kAtOnce = kTiles < 2 ? kTiles : 2;
    BERTH_UNROLL
    for (uint32_t n = 0; n < kTiles; n += kAtOnce) {
      BERTH_UNROLL
      for (uint32_t i = 0; i < kAtOnce; ++i) Meet(sums[n + i], 8 * i);
      SyncBlock();
      Finish(tile, pass, pair + 8 * n, count < 8 * n ? 0 : count - 8 * n);
      SyncBlock();
    }
  }

  // Where sum number `sum` of weight row `row` with activation row `n` of the 16 lies.
  BERTH_CARD_ONLY float* MeetingPlace(uint32_t n, uint32_t sum, uint32_t row) const {
    return meeting_ + (n * 8 + sum) * kMatrixMeetingStride + row;
  }
  BERTH_CARD_ONLY void Meet(const MatrixSum (&sums)[2], uint32_t first) const {
    const uint32_t g = Lane() / 4, t = Lane() % 4, warp = ThreadIndex() / kWarp;
    BERTH_UNROLL
    for (uint32_t block = 0; block < 2; ++block) {
      BERTH_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        *MeetingPlace(first + 2 * t + i % 2, 2 * warp + block, g + 8 * (i / 2)) = sums[block][i];
      }
    }
  }
  BERTH_CARD_ONLY float Total(uint32_t n, uint32_t row) const {
    float four[4];
    BERTH_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      four[i] = Add(*MeetingPlace(n, i, row), *MeetingPlace(n, i + 4, row));
    }
    return Canonical(Add(Add(four[0], four[2]), Add(four[1], four[3])));
  }

  // The first `count` of 16 pairs from `pair` on.
  BERTH_CARD_ONLY void Finish(const Tile& tile, uint32_t pass, uint32_t pair, uint32_t count) {
    const uint32_t most = count < 16 ? count : 16;
    const uint32_t rows = a_.matrices == 2 ? 8 : 16;
    for (uint32_t i = ThreadIndex(); i < most * rows; i += BlockThreads()) {
      const uint32_t n = i / rows, row = i % rows;
      const uint32_t self =
          tile.row + pass + a_.row_step * (row % 8) + (row < 8 ? 0 : stages_.part_rows());
      if (self >= a_.rows) continue;
      const uint32_t place = tile.unit.first + pair + n;
      const float product = Total(n, row);
      if (a_.down) {
        StorePartial(a_, tile.unit.expert, a_.list.pairs[place], self, product);
      } else {
        const float up = a_.matrices == 2 ? Total(n, row + 8) : product;
        StoreActivation(a_, a_.list.pairs, tile.unit.expert, place, self, product, up,
                        DownIsWide(a_, tile.unit));
      }
    }
  }

  const ProductArgs& a_;
  const TileStages<F, kMatrixPartRows> stages_;
  float* const meeting_;
  const CardTable table_;
  uint32_t stage_ = 0, fill_ = 0;
};

template <typename F>
inline constexpr uint32_t kMatrixCopies = kTableCopies<F, kMostMatrixTableBytes>;

// Blocks of a multiprocessor: formats with two sums or minima need more registers.
template <typename F>
inline constexpr uint32_t kMatrixBlocks = kTwoSums<F> || F::kKind.minima ? 3 : 4;

template <typename F>
BERTH_KERNEL(kMatrixThreads, kMatrixBlocks<F>)
MatrixKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kMatrixCopies<F>;
  auto* const table = reinterpret_cast<uint32_t*>(shared);
  auto* const meeting = reinterpret_cast<float*>(table + F::kTableWords * kCopies);
  uint8_t* const stages = reinterpret_cast<uint8_t*>(meeting) + kMatrixMeetingBytes;
  auto* const barriers = reinterpret_cast<uint64_t*>(stages + 2 * a.depth * a.part_bytes);
  MatrixBlock<F> self(a, stages, barriers, meeting, TableOfLane<kCopies>(table));
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(table);
  SyncBlock();
  WaitForLastLaunch();
  NextLaunchMayStart();
  auto* const word = reinterpret_cast<uint32_t*>(meeting);
  for (uint32_t share = TakeShare(a, word); share < GridBlocks(); share = EndShare(a, word)) {
    self.Run(share);
  }
  SumShares(a);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_MATRIX_KERNEL_H_
