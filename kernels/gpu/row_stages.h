// A warp's stages of shared memory, of eight weight rows each. A warp fills them ahead of itself,
// by copies that run by themselves, and empties them in turn.
//
// A stage holds stretches of columns of the rows, each in a slot of its own, which begin in
// different banks; or, where rows are short and do not meet in a few banks anyhow, the rows as they
// lie, in two parts of four (ProductArgs::part_bytes): that takes fewer copies.
//
// The work is items, a warp's those that lie as far apart as the block has warps. An `Items` says
// where their weights are:
//   uint32_t tiles() const;       // of a place's unit (DotPlace)
//   uint32_t rows_apart() const;  // from one of a warp's tiles to its next: a multiple of 16
//   uint32_t OutputOf(uint32_t tile) const;  // which row of its matrix the lane's is, of eight
//   const uint8_t* MatrixOf(uint32_t unit_at) const;  // that of the lane's row; null: there is
//   none
// Rows 0 to 3 and 4 to 7 lie one behind the other (or twice as far apart: row_step). The whole warp
// calls all of these. A warp's rows of a unit all lie alike within 16 bytes.
#ifndef BERTH_KERNELS_GPU_ROW_STAGES_H_
#define BERTH_KERNELS_GPU_ROW_STAGES_H_

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/stage_copies.h"

namespace berth::kernels::gpu {

template <typename F>
class RowStages {
 public:
  // A warp's `barriers` (kDotBarriers), once in a kernel, before the first that reads by them.
  BERTH_CARD_ONLY static void MakeBarriers(const ProductArgs& a, uint64_t* barriers) {
    if (Lane() < a.depth) InitBarrier(barriers + Lane(), kRows);
    if (Lane() == 0) *ReadsAt(barriers) = 0;
    SyncWarp();
  }

  // `stages` and `barriers`: this warp's. Goes on where the last one ended: barriers that were made
  // anew would tell nobody that what they waited for before is there.
  BERTH_CARD_ONLY RowStages(const ProductArgs& a, uint8_t* stages, uint64_t* barriers)
      : a_(a), stages_(stages), barriers_(barriers), stage_bytes_(StageBytes(a)) {
    const uint32_t row = Lane() % kRows, in_part = row % kPartRows;
    slot_ = by_part() ? row / kPartRows * a.part_bytes + in_part * row_bytes() : row * a.row_stride;
    most_ = !by_part() ? 1 : in_part == 0 ? kPartRows : 0;
    const uint32_t reads = *ReadsAt(barriers);
    if (reads == 0) return;
    round_ = reads / a.depth;
    stage_ = reads - round_ * a.depth;
  }

  // All items have been read, and another may read by the same stages and barriers.
  BERTH_CARD_ONLY void Close() const {
    SyncWarp();
    if (Lane() == 0) *ReadsAt(barriers_) = round_ * a_.depth + stage_;
    SyncWarp();
  }

  // Asks for the first of the items from `begin` on and before `end`; those of the last time have
  // been read.
  template <typename Items>
  BERTH_CARD_ONLY void Start(const Items& items, const DotPlace& begin, uint32_t end) {
    at_ = begin;
    end_ = end;
    if (at_.number < end_) FindRow(items);
    BERTH_NO_UNROLL
    for (uint32_t i = 0, stage = stage_; i < a_.depth; ++i) {
      Fill(items, stage);
      stage = stage + 1 < a_.depth ? stage + 1 : 0;
    }
  }

  // Begins to read a unit's items, from the one at `at` on.
  template <typename Items>
  BERTH_CARD_ONLY void Begin(const Items& items, const DotPlace& at) {
    const uint8_t* const matrix = items.MatrixOf(at.unit_at);
    low_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(matrix)) +
           items.OutputOf(at.tile) * row_bytes();
    head_mask_ = AreRealigned(low_, matrix != nullptr) ? 0 : 15;
    // Of a part, what lies in front of its first row.
    if (by_part()) low_ -= Lane() % kPartRows * row_bytes();
  }
  // The lane's row from column `col` on, once it is there: of the item, or of the unit's next one,
  // where stages have whole rows (and there are two).
  BERTH_CARD_ONLY const uint8_t* Wait(uint32_t col) const { return Wait(stage_, round_, 0, col); }
  BERTH_CARD_ONLY const uint8_t* WaitForNext() const {
    const bool again = stage_ + 1 == a_.depth;
    return Wait(again ? 0 : stage_ + 1, again ? round_ + 1 : round_, 1, 0);
  }
  // It has been read.
  template <typename Items>
  BERTH_CARD_ONLY void Next(const Items& items) {
    SyncWarp();
    Fill(items, stage_);
    const bool again = stage_ + 1 == a_.depth;
    stage_ = again ? 0 : stage_ + 1;
    if (again) ++round_;
  }

 private:
  static constexpr uint32_t kRows = 8, kPartRows = 4;

  // How often a stage has been read, behind the barriers.
  BERTH_CARD_ONLY static uint32_t* ReadsAt(uint64_t* barriers) {
    return reinterpret_cast<uint32_t*>(barriers + kDotDepth);
  }

  BERTH_CARD_ONLY bool by_part() const { return a_.part_bytes != 0; }
  BERTH_CARD_ONLY uint32_t row_bytes() const { return static_cast<uint32_t>(a_.row_bytes[0]); }

  // `ahead`: stages that have been filled before this one and are not empty.
  BERTH_CARD_ONLY const uint8_t* Wait(uint32_t stage, uint32_t round, uint32_t ahead,
                                      uint32_t col) const {
    WaitForStage(barriers_ + stage, round, a_.depth - ahead);
    return stages_ + stage * stage_bytes_ + slot_ + ((low_ + BytesOf(col)) & head_mask_);
  }
  BERTH_CARD_ONLY static uint32_t BytesOf(uint32_t cols) { return cols / F::kElements * F::kBytes; }
  // Whether decoders cannot read an item's rows where they lie; then they are moved to a multiple
  // of 16 as they come. Each lane with a row of its own.
  BERTH_CARD_ONLY static bool AreRealigned(uint32_t low, bool there) {
    if constexpr (kLie<F> == Lie::kAny) return false;
    if (Ballot(there && (low & (kRowAlign<F> - 1)) != 0) != 0) return true;
    if constexpr (kLie<F> == Lie::kWords) return false;
    return Ballot(there && (low & 3) == 0) != 0 && Ballot(there && (low & 3) != 0) != 0;
  }

  // The lane's row of the item that is asked for next, the first of its unit's.
  template <typename Items>
  BERTH_CARD_ONLY void FindRow(const Items& items) {
    const uint8_t* const matrix = items.MatrixOf(at_.unit_at);
    const uint32_t row = items.OutputOf(at_.tile);
    from_ = reinterpret_cast<uintptr_t>(matrix) + row * row_bytes();
    moves_ = AreRealigned(static_cast<uint32_t>(from_), matrix != nullptr);
    row_ = matrix == nullptr ? a_.rows : row;
  }
  template <typename Items>
  BERTH_CARD_ONLY void Fill(const Items& items, uint32_t stage) {
    if (at_.number < end_) {
      const uint32_t left = a_.cols - col_;
      const uint32_t there = row_ < a_.rows ? a_.rows - row_ : 0;
      const uint32_t bytes =
          (there < most_ ? there : most_) *
          (by_part() ? row_bytes() : BytesOf(left < a_.chunk_cols ? left : a_.chunk_cols));
      Copy(from_ + BytesOf(col_), bytes, stage);
      col_ += a_.chunk_cols;
      if (col_ >= a_.cols) {
        col_ = 0;
        at_.Step(BlockThreads() / kWarp);
        row_ += items.rows_apart();
        from_ += items.rows_apart() * row_bytes();
        if (at_.tile >= items.tiles()) {
          at_.Settle(items.tiles());
          if (at_.number < end_) FindRow(items);
        }
      }
    }
    CloseStage();
  }
  // `bytes`: that the lane has to copy into its row's slot.
  BERTH_CARD_ONLY void Copy(uint64_t from, uint32_t bytes, uint32_t stage) const {
    uint8_t* const to = stages_ + stage * stage_bytes_ + slot_;
    if (kBulkCopies && !moves_) {
      const auto* const source = reinterpret_cast<const uint8_t*>(from);
      if (Lane() < kRows) CopyBulk(to + Head(source), source, bytes, barriers_ + stage);
      return;
    }
    BERTH_NO_UNROLL
    for (uint32_t row = 0; row < kRows; ++row) {
      const uint32_t of_row = FromLane(bytes, row);
      const uint32_t slot = FromLane(slot_, row);
      const auto* const source = reinterpret_cast<const uint8_t*>(FromLane(from, row));
      if (of_row == 0) continue;
      CopyToStage(to - slot_ + slot + HeadOf(source, moves_), source, of_row, moves_);
    }
    ArriveAtStage(barriers_ + stage, kRows);
  }

  const ProductArgs& a_;
  uint8_t* const stages_;
  uint64_t* const barriers_;
  const uint32_t stage_bytes_;
  // Where in a stage the lane's row lies; how many rows from its on the lane copies, at most.
  uint32_t slot_ = 0, most_ = 0;
  // What is asked for next: the item, its column, which row of its matrix the lane's is (or one
  // beyond), where that is.
  DotPlace at_;
  uint32_t col_ = 0, end_ = 0, row_ = 0;
  uint64_t from_ = 0;
  bool moves_ = false;
  // What is read: its stage, how often that was, an address that lies within 16 bytes as what was
  // copied to the lane's slot or in front of it; 0: it was moved to the slot's begin.
  uint32_t stage_ = 0, round_ = 0, low_ = 0, head_mask_ = 0;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_ROW_STAGES_H_
