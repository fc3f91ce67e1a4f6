// How the dot kernel cuts weights into tiles, and the stages that a warp brings them to shared
// memory in.
//
// A tile is eight rows, or several times eight (passes): rows of gate and the same rows of up, half
// and half, or rows of one matrix, in two parts that lie one after the other. Rows whose bytes are
// 2 more than a multiple of 4 alternate in alignment; then a pass takes every second row (row_step
// 2), so that all rows of it are alike.
//
// A stage holds a whole tile, as it lies; or, of longer rows, a stretch of columns of the eight
// rows of a pass, each row in a slot of its own, which begin in different banks.
#ifndef BERTH_KERNELS_GPU_DOT_STAGES_H_
#define BERTH_KERNELS_GPU_DOT_STAGES_H_

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/early_units.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/stage_copies.h"

namespace berth::kernels::gpu {

template <typename F>
class DotStages {
 public:
  // `stages` and `barriers`: this warp's.
  BERTH_CARD_ONLY DotStages(const ProductArgs& a, uint8_t* stages, uint64_t* barriers)
      : a_(a), stages_(stages), barriers_(barriers) {
    tiles_ = (a.rows + tile_rows() - 1) / tile_rows();
    if constexpr (kDirect) return;
    if (Lane() == 0) {
      for (uint32_t i = 0; i < a.depth; ++i) InitBarrier(barriers + i, by_tile() ? 2 : 8);
    }
    SyncWarp();
  }

  BERTH_CARD_ONLY bool by_tile() const { return a_.chunk_cols == 0; }
  BERTH_CARD_ONLY uint32_t part_rows() const { return kDotPartRows * a_.passes; }
  // Outputs of a tile, tiles of a unit.
  BERTH_CARD_ONLY uint32_t tile_rows() const { return part_rows() * (a_.matrices == 2 ? 1 : 2); }
  BERTH_CARD_ONLY uint32_t tiles() const { return tiles_; }

  BERTH_CARD_ONLY DotMatrices MatricesOf(const CardUnit& unit) const {
    DotMatrices of;
    of.second = a_.down ? unit.down : unit.up;
    of.first = a_.matrices == 2 ? unit.gate : of.second;
    return of;
  }

  // Which row of its part a lane takes in a pass; its part: Part().
  BERTH_CARD_ONLY uint32_t RowOf(uint32_t pass) const {
    const uint32_t self = Lane() % kDotPartRows;
    if (a_.row_step == 1) return pass * kDotPartRows + self;
    return (pass / 2 * kDotPartRows + self) * 2 + pass % 2;
  }
  BERTH_CARD_ONLY static uint32_t Part() { return Lane() % 8 / kDotPartRows; }
  // Of the matrix: row `row` of a part of the tile.
  BERTH_CARD_ONLY uint32_t MatrixRow(const DotPlace& at, uint32_t part, uint32_t row) const {
    return at.tile * tile_rows() + row + (a_.matrices == 2 ? 0 : part * part_rows());
  }

  // Asks for a stage: of the tile, all of it, or columns from `col` on of the rows of a pass. The
  // whole warp calls it.
  BERTH_CARD_ONLY void Fill(const DotPlace& at, const DotMatrices& matrices, uint32_t pass,
                            uint32_t col, uint32_t stage) const {
    if (matrices.second == nullptr) {
      ArriveAtStage(barriers_ + stage, by_tile() ? 2 : 8);
    } else if (by_tile()) {
      FillTile(at, matrices, stage);
    } else {
      FillRows(at, matrices, pass, col, stage);
    }
    CloseStage();
  }

  BERTH_CARD_ONLY void Wait(uint32_t stage, uint32_t fill) const {
    WaitForStage(barriers_ + stage, fill, a_.depth);
  }

  // Where the lane's weight row of a pass is to be read, from column `col` of the stage on.
  BERTH_CARD_ONLY const uint8_t* RowAt(const DotPlace& at, const DotMatrices& matrices,
                                       uint32_t pass, uint32_t col, uint32_t stage) const {
    const uint32_t part = Part(), row = RowOf(pass);
    const uint8_t* const matrix = part == 0 ? matrices.first : matrices.second;
    const uint32_t in_matrix = MatrixRow(at, part, row);
    if constexpr (kDirect) {
      // Beyond the last row that row again; its results are left.
      const uint32_t there = in_matrix < a_.rows ? in_matrix : a_.rows - 1;
      return InCardMemory(matrix) + there * row_bytes();
    }
    const bool realigned = Realigned<F>(matrices.first, matrices.second);
    if (by_tile()) {
      const uint8_t* const from = matrix + (in_matrix - row) * row_bytes();
      return StageAt(stage) + part * a_.part_bytes + HeadOf(from, realigned) + row * row_bytes();
    }
    const uint8_t* const from = matrix + in_matrix * row_bytes() + BytesOf(col);
    return StageAt(stage) + Lane() % 8 * a_.row_stride + HeadOf(from, realigned);
  }

 private:
  BERTH_CARD_ONLY uint32_t row_bytes() const { return static_cast<uint32_t>(a_.row_bytes[0]); }
  BERTH_CARD_ONLY static uint32_t BytesOf(uint32_t cols) { return cols / F::kElements * F::kBytes; }
  BERTH_CARD_ONLY uint8_t* StageAt(uint32_t stage) const { return stages_ + stage * StageBytes(); }
  BERTH_CARD_ONLY uint32_t StageBytes() const {
    return by_tile() ? 2 * a_.part_bytes : 8 * a_.row_stride;
  }

  BERTH_CARD_ONLY void FillTile(const DotPlace& at, const DotMatrices& matrices,
                                uint32_t stage) const {
    const bool realigned = Realigned<F>(matrices.first, matrices.second);
    const auto bytes_of = [&](uint32_t part) {
      const uint32_t first = MatrixRow(at, part, 0);
      const uint32_t left = first < a_.rows ? a_.rows - first : 0;
      return (left < part_rows() ? left : part_rows()) * row_bytes();
    };
    const auto from_of = [&](uint32_t part) {
      const uint8_t* const matrix = part == 0 ? matrices.first : matrices.second;
      return matrix + MatrixRow(at, part, 0) * row_bytes();
    };
    if (kBulkCopies && !realigned) {
      if (Lane() >= 2) return;
      const uint32_t part = Lane();
      const uint8_t* const from = from_of(part);
      CopyBulk(StageAt(stage) + part * a_.part_bytes + Head(from), from, bytes_of(part),
               barriers_ + stage);
      return;
    }
    for (uint32_t part = 0; part < 2; ++part) {
      const uint32_t bytes = bytes_of(part);
      if (bytes == 0) continue;
      const uint8_t* const from = from_of(part);
      uint8_t* const to = StageAt(stage) + part * a_.part_bytes + HeadOf(from, realigned);
      CopyToStage(to, from, bytes, realigned);
    }
    ArriveAtStage(barriers_ + stage, 2);
  }

  BERTH_CARD_ONLY void FillRows(const DotPlace& at, const DotMatrices& matrices, uint32_t pass,
                                uint32_t col, uint32_t stage) const {
    const bool realigned = Realigned<F>(matrices.first, matrices.second);
    const uint32_t left = a_.cols - col;
    const uint32_t bytes = BytesOf(left < a_.chunk_cols ? left : a_.chunk_cols);
    const uint32_t row = MatrixRow(at, Part(), RowOf(pass));
    const uint8_t* const matrix = Part() == 0 ? matrices.first : matrices.second;
    const uint8_t* const from = matrix + row * row_bytes() + BytesOf(col);
    uint8_t* const to = StageAt(stage) + Lane() % 8 * a_.row_stride;
    if (kBulkCopies && !realigned) {
      if (Lane() >= 8) return;
      CopyBulk(to + Head(from), from, row < a_.rows ? bytes : 0, barriers_ + stage);
      return;
    }
    for (uint32_t lane = 0; lane < 8; ++lane) {
      const auto address = FromLane(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(from)), lane);
      const bool there = FromLane(row, lane) < a_.rows;
      if (!there) continue;
      const auto* const source = reinterpret_cast<const uint8_t*>(address);
      CopyToStage(StageAt(stage) + lane * a_.row_stride + HeadOf(source, realigned), source, bytes,
                  realigned);
    }
    ArriveAtStage(barriers_ + stage, 8);
  }

  const ProductArgs& a_;
  uint8_t* const stages_;
  uint64_t* const barriers_;
  uint32_t tiles_ = 0;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_STAGES_H_
