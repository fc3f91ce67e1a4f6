// A warp's stages of shared memory, of eight weight rows each. A warp fills them ahead of itself,
// by copies that run by themselves, and empties them in turn.
//
// A stage holds stretches of columns of the rows, each in a slot of its own, which begin in
// different banks; or, where rows are short and do not meet in a few banks anyhow, the rows as they
// lie, in two parts of four (ProductArgs::part_bytes): that takes fewer copies.
//
// The work is items, a warp's those that lie as far apart as the block has warps. An `Items` says
// where their weights are:
//   uint32_t tiles() const;  // of a place's unit (DotPlace)
//   const uint8_t* RowAt(const DotPlace& at, uint32_t row) const;  // of eight; null: there is none
// Rows 0 to 3 and 4 to 7 lie one behind the other (or twice as far apart: row_step); if one of four
// is there, those before it are. The whole warp calls all of these.
#ifndef BERTH_KERNELS_GPU_ROW_STAGES_H_
#define BERTH_KERNELS_GPU_ROW_STAGES_H_

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/stage_copies.h"

namespace berth::kernels::gpu {

template <typename F>
class RowStages {
 public:
  // `stages` and `barriers`: this warp's.
  BERTH_CARD_ONLY RowStages(const ProductArgs& a, uint8_t* stages, uint64_t* barriers)
      : a_(a), stages_(stages), barriers_(barriers) {
    if (Lane() < a.depth) InitBarrier(barriers + Lane(), kRows);
    SyncWarp();
  }

  // All items have been read, and others may make stages of the same memory.
  BERTH_CARD_ONLY void Close() const {
    SyncWarp();
    if (Lane() < a_.depth) EndBarrier(barriers_ + Lane());
    SyncWarp();
  }

  // Asks for the first of the items from `begin` on and before `end`; those of the last time have
  // been read.
  template <typename Items>
  BERTH_CARD_ONLY void Start(const Items& items, const DotPlace& begin, uint32_t end) {
    at_ = begin;
    end_ = end;
    BERTH_NO_UNROLL
    for (uint32_t i = 0, stage = stage_; i < a_.depth; ++i) {
      Fill(items, stage);
      stage = stage + 1 < a_.depth ? stage + 1 : 0;
    }
  }

  // Begins to read an item: where the lane's row of it is.
  template <typename Items>
  BERTH_CARD_ONLY void Begin(const Items& items, const DotPlace& at) {
    const uint8_t* const row = items.RowAt(at, Lane() % kRows);
    low_ = Low(row);
    realigned_ = AreRealigned(low_, row != nullptr);
  }
  // The lane's row from column `col` on, once it is there.
  BERTH_CARD_ONLY const uint8_t* Wait(uint32_t col) const {
    WaitForStage(barriers_ + stage_, round_, a_.depth);
    const uint32_t row = Lane() % kRows;
    const uint32_t first = by_part() ? low_ - row % kPartRows * row_bytes() : low_ + BytesOf(col);
    return SlotAt(stage_, row) + (realigned_ ? 0 : first & 15);
  }
  // It has been read.
  template <typename Items>
  BERTH_CARD_ONLY void Next(const Items& items) {
    SyncWarp();
    Fill(items, stage_);
    stage_ = stage_ + 1 < a_.depth ? stage_ + 1 : 0;
    round_ += stage_ == 0 ? 1 : 0;
  }

 private:
  static constexpr uint32_t kRows = 8, kPartRows = 4;

  BERTH_CARD_ONLY bool by_part() const { return a_.part_bytes != 0; }
  BERTH_CARD_ONLY uint32_t row_bytes() const { return static_cast<uint32_t>(a_.row_bytes[0]); }

  BERTH_CARD_ONLY static uint32_t BytesOf(uint32_t cols) { return cols / F::kElements * F::kBytes; }
  BERTH_CARD_ONLY static uint32_t Low(const uint8_t* row) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row));
  }
  BERTH_CARD_ONLY uint8_t* SlotAt(uint32_t stage, uint32_t row) const {
    if (!by_part()) return stages_ + (kRows * stage + row) * a_.row_stride;
    return stages_ + (2 * stage + row / kPartRows) * a_.part_bytes + row % kPartRows * row_bytes();
  }
  // Whether decoders cannot read an item's rows where they lie; then they are moved to a multiple
  // of 16 as they come. Each lane with a row of its own.
  BERTH_CARD_ONLY static bool AreRealigned(uint32_t low, bool there) {
    if constexpr (kLie<F> == Lie::kAny) return false;
    if (Ballot(there && (low & (kRowAlign<F> - 1)) != 0) != 0) return true;
    if constexpr (kLie<F> == Lie::kWords) return false;
    return Ballot(there && (low & 3) == 0) != 0 && Ballot(there && (low & 3) != 0) != 0;
  }

  template <typename Items>
  BERTH_CARD_ONLY void Fill(const Items& items, uint32_t stage) {
    if (at_.number < end_) {
      if (col_ == 0) {
        from_ = items.RowAt(at_, Lane() % kRows);
        moves_ = AreRealigned(Low(from_), from_ != nullptr);
      }
      const uint32_t left = a_.cols - col_;
      const uint32_t bytes = BytesOf(left < a_.chunk_cols ? left : a_.chunk_cols);
      if (by_part()) {
        CopyParts(stage);
      } else {
        CopyRows(from_ == nullptr ? nullptr : from_ + BytesOf(col_), bytes, stage);
      }
      col_ += a_.chunk_cols;
      if (col_ >= a_.cols) {
        col_ = 0;
        at_.Advance(BlockThreads() / kWarp, items.tiles());
      }
    }
    CloseStage();
  }
  BERTH_CARD_ONLY void CopyRows(const uint8_t* from, uint32_t bytes, uint32_t stage) const {
    if (kBulkCopies && !moves_) {
      if (Lane() >= kRows) return;
      CopyBulk(SlotAt(stage, Lane()) + Head(from), from, from == nullptr ? 0 : bytes,
               barriers_ + stage);
      return;
    }
    CopyByAll<1>(from, from == nullptr ? 0 : bytes, stage);
  }
  BERTH_CARD_ONLY void CopyParts(uint32_t stage) const {
    const uint32_t there = Ballot(from_ != nullptr) >> (Lane() % kRows / kPartRows * kPartRows);
    const uint32_t bytes = CountBits(there & 15) * row_bytes();
    if (kBulkCopies && !moves_) {
      if (Lane() >= kRows) return;
      const bool first = Lane() % kPartRows == 0;
      CopyBulk(SlotAt(stage, Lane()) + Head(from_), from_, first ? bytes : 0, barriers_ + stage);
      return;
    }
    CopyByAll<kPartRows>(from_, bytes, stage);
  }
  // The bytes of every kStep-th lane, from where it says, by all lanes.
  template <uint32_t kStep>
  BERTH_CARD_ONLY void CopyByAll(const uint8_t* from, uint32_t bytes, uint32_t stage) const {
    for (uint32_t row = 0; row < kRows; row += kStep) {
      const auto own = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(from));
      const auto* const source = reinterpret_cast<const uint8_t*>(FromLane(own, row));
      const uint32_t of_source = FromLane(bytes, row);
      if (source == nullptr) continue;
      CopyToStage(SlotAt(stage, row) + HeadOf(source, moves_), source, of_source, moves_);
    }
    ArriveAtStage(barriers_ + stage, kRows);
  }

  const ProductArgs& a_;
  uint8_t* const stages_;
  uint64_t* const barriers_;
  // What is asked for next: the item, its column, where the lane's row of it is.
  DotPlace at_;
  uint32_t col_ = 0, end_ = 0;
  const uint8_t* from_ = nullptr;
  bool moves_ = false;
  // What is read: its stage, how often that was, the address of the lane's row.
  uint32_t stage_ = 0, round_ = 0, low_ = 0;
  bool realigned_ = false;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_ROW_STAGES_H_
