// A warp's stages of shared memory: stretches of columns of eight weight rows, each in a slot of
// its own, which begin in different banks. A warp fills them ahead of itself, by 16-byte copies
// that run by themselves, four lanes a row, and empties them in turn.
//
// `Items` says what the warp's work is: numbered from `at` on, kFewWarps apart.
//   const uint8_t* RowAt(uint32_t number, uint32_t row) const;  // of eight; null: there is none
#ifndef BERTH_KERNELS_GPU_FEW_STAGES_H_
#define BERTH_KERNELS_GPU_FEW_STAGES_H_

#include "kernels/gpu/few_args.h"
#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/staging.h"

namespace berth::kernels::gpu {

template <typename F, typename Items>
class FewStages {
 public:
  // `stages`: this warp's.
  BERTH_CARD_ONLY FewStages(const ProductArgs& a, uint8_t* stages, const Items& items,
                            uint32_t begin, uint32_t end)
      : a_(a), stages_(stages), items_(items), at_(begin), end_(end) {
    BERTH_NO_UNROLL
    for (uint32_t i = 0; i < a.depth; ++i) Fill(i);
  }

  // Begins to read an item: where the lane's row of it is.
  BERTH_CARD_ONLY void Begin(uint32_t number) {
    const uint8_t* const row = items_.RowAt(number, Lane() % 8);
    low_ = Low(row);
    realigned_ = Realigned(low_, row != nullptr);
  }
  // The lane's row from column `col` on, once it is there.
  BERTH_CARD_ONLY const uint8_t* Wait(uint32_t col) const {
    switch (a_.depth) {
      case 1:
        WaitForPieces<0>();
        break;
      case 2:
        WaitForPieces<1>();
        break;
      case 3:
        WaitForPieces<2>();
        break;
      default:
        WaitForPieces<3>();
        break;
    }
    SyncWarp();
    const uint32_t head = realigned_ ? 0 : (low_ + BytesOf(col)) & 15;
    return SlotAt(stage_, Lane() % 8) + head;
  }
  // It has been read.
  BERTH_CARD_ONLY void Next() {
    SyncWarp();
    Fill(stage_);
    stage_ = stage_ + 1 < a_.depth ? stage_ + 1 : 0;
  }

 private:
  BERTH_CARD_ONLY static uint32_t BytesOf(uint32_t cols) { return cols / F::kElements * F::kBytes; }
  BERTH_CARD_ONLY static uint32_t Low(const uint8_t* row) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row));
  }
  BERTH_CARD_ONLY uint8_t* SlotAt(uint32_t stage, uint32_t row) const {
    return stages_ + (8 * stage + row) * a_.row_stride;
  }
  // Whether decoders cannot read an item's rows where they lie; then they are moved to a multiple
  // of 16 as they come. The whole warp calls it, each lane with a row of its own.
  BERTH_CARD_ONLY static bool Realigned(uint32_t low, bool there) {
    if constexpr (kLie<F> == Lie::kAny) return false;
    if (Ballot(there && (low & (kRowAlign<F> - 1)) != 0) != 0) return true;
    if constexpr (kLie<F> == Lie::kWords) return false;
    return Ballot(there && (low & 3) == 0) != 0 && Ballot(there && (low & 3) != 0) != 0;
  }

  BERTH_CARD_ONLY void Fill(uint32_t stage) {
    if (at_ < end_) {
      if (col_ == 0) {
        from_ = items_.RowAt(at_, Lane() / 4);
        moves_ = Realigned(Low(from_), from_ != nullptr);
      }
      const uint32_t left = a_.cols - col_;
      const uint32_t bytes = BytesOf(left < a_.chunk_cols ? left : a_.chunk_cols);
      const uint8_t* const from = from_ + BytesOf(col_);
      if (moves_) {
        Move(from, bytes, stage);
      } else if (from_ != nullptr) {
        Copy(SlotAt(stage, Lane() / 4), from, bytes);
      }
      col_ += a_.chunk_cols;
      if (col_ >= a_.cols) {
        col_ = 0;
        at_ += kFewWarps;
      }
    }
    ClosePieces();
  }
  // Four lanes a row.
  BERTH_CARD_ONLY static void Copy(uint8_t* slot, const uint8_t* from, uint32_t bytes) {
    const uint32_t head = Head(from), all = head + bytes;
    for (uint32_t at = 16 * (Lane() % 4); at < all; at += 64) {
      const uint32_t last = all - at;
      CopyPiece(slot + at, from - head + at, at == 0 ? head : 0, last < 16 ? last : 16);
    }
  }
  BERTH_CARD_ONLY void Move(const uint8_t* from, uint32_t bytes, uint32_t stage) const {
    for (uint32_t row = 0; row < 8; ++row) {
      const bool there = FromLane(from_ == nullptr ? 0u : 1u, 4 * row) != 0;
      const uint64_t own = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(from));
      const auto* const source = reinterpret_cast<const uint8_t*>(FromLane(own, 4 * row));
      if (there) CopyRealigned(SlotAt(stage, row), source, bytes);
    }
  }

  const ProductArgs& a_;
  uint8_t* const stages_;
  const Items items_;
  // What is asked for next: the item, its column, and the row of it that the lane copies of.
  uint32_t at_, col_ = 0;
  const uint32_t end_;
  const uint8_t* from_ = nullptr;
  bool moves_ = false;
  // What is read: its stage, the address of the lane's row.
  uint32_t stage_ = 0, low_ = 0;
  bool realigned_ = false;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_STAGES_H_
