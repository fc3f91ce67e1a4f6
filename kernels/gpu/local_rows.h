// Activation rows that a block of the dot kernel needs, in its shared memory. Those of h it puts
// into 8 bits by itself: so the launch before need not wait until all of a row is there. Where no
// launch comes before (call_kernel.h), those of x, too.
#ifndef BERTH_KERNELS_GPU_LOCAL_ROWS_H_
#define BERTH_KERNELS_GPU_LOCAL_ROWS_H_

#include <cstddef>

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/staging.h"

namespace berth::kernels::gpu {

// Which products a piece of code is for: those that ProductArgs says, or of a kernel for all.
enum class Half : uint8_t { kAny, kGateUp, kDown };
template <Half kHalf>
BERTH_CARD_ONLY bool IsDown(const ProductArgs& a) {
  return kHalf == Half::kAny ? a.down : kHalf == Half::kDown;
}

template <Half kHalf = Half::kAny>
class LocalRows {
 public:
  // `pairs`: the list's. `shared`: of a.local_rows rows, at a multiple of 16.
  BERTH_CARD_ONLY LocalRows(const ProductArgs& a, const uint32_t* pairs, uint8_t* shared,
                            bool halves)
      : a_(a), pairs_(pairs) {
    rows_.stride = (a.cols + 255) / 256 * 256;
    const uint32_t floats = a.local_rows * rows_.stride / 32;
    rows_.q = reinterpret_cast<int8_t*>(shared);
    rows_.d = reinterpret_cast<float*>(shared + a.local_rows * rows_.stride);
    rows_.s = rows_.d + floats;
    rows_.halves = halves ? rows_.s + floats : nullptr;
  }

  // What the caller's warp puts into 8 bits next, four values a lane: 128 columns of a row each.
  static constexpr uint32_t kPieces = kHalf == Half::kAny ? 1 : 2;
  struct Pieces {
    FourFloats x[kPieces];
  };
  // Asks for the first ones of Make(first, count).
  BERTH_CARD_ONLY Pieces Ask(uint32_t first, uint32_t count) const {
    if (!kConverts && !a_.down) return {};
    return Load(ThreadIndex() / kWarp, first, count);
  }
  // The whole block: the inputs of places [first, first + count) as rows 0 and so on. Synchronizes
  // behind it.
  BERTH_CARD_ONLY void Make(uint32_t first, uint32_t count, const Pieces& pieces) const {
    if (kConverts || a_.down) {
      Quantize(first, count, pieces);
    } else {
      Copy(first, count);
    }
    SyncBlock();
  }

  BERTH_CARD_ONLY const ByteRows& rows() const { return rows_; }

 private:
  static constexpr bool kConverts = kHalf != Half::kAny;

  // A lane a piece of 16 bytes; a row by as many warps as there are for each.
  BERTH_CARD_ONLY void Copy(uint32_t first, uint32_t count) const {
    const uint32_t of_q = rows_.stride / 16, of_d = rows_.stride / 128;
    const uint32_t pieces = of_q + of_d * (rows_.halves != nullptr ? 4 : 2);
    const uint32_t warp = ThreadIndex() / kWarp, warps = BlockThreads() / kWarp;
    uint32_t log_parts = 0;
    while ((count << (log_parts + 1)) <= warps) ++log_parts;
    const uint32_t parts = 1u << log_parts, part = warp & (parts - 1);
    BERTH_NO_UNROLL
    for (uint32_t row = warp >> log_parts; row < count; row += warps >> log_parts) {
      const uint32_t from = a_.list.pairs[first + row] / a_.top_k;
      BERTH_NO_UNROLL
      for (uint32_t i = part * kWarp + Lane(); i < pieces; i += parts * kWarp) {
        CopyPiece(PieceAt(rows_, row, i), PieceAt(a_.bytes, from, i), 0, 16);
      }
    }
    ClosePieces();
    WaitForPieces<0>();
  }
  // Piece `piece` of a row: those of q, d, s and halves, one behind the other.
  BERTH_CARD_ONLY uint8_t* PieceAt(const ByteRows& of, size_t row, uint32_t piece) const {
    const uint32_t of_q = rows_.stride / 16, of_d = rows_.stride / 128;
    if (piece < of_q) return reinterpret_cast<uint8_t*>(of.q) + 16 * (row * of_q + piece);
    piece -= of_q;
    if (piece < of_d) return reinterpret_cast<uint8_t*>(of.d) + 16 * (row * of_d + piece);
    piece -= of_d;
    if (piece < of_d) return reinterpret_cast<uint8_t*>(of.s) + 16 * (row * of_d + piece);
    return reinterpret_cast<uint8_t*>(of.halves) + 16 * (row * 2 * of_d + piece - of_d);
  }

  BERTH_CARD_ONLY void Quantize(uint32_t first, uint32_t count, Pieces pieces) const {
    const uint32_t warps = BlockThreads() / kWarp;
    uint32_t i = ThreadIndex() / kWarp;
    BERTH_NO_UNROLL
    while (PlaceOf(i, count).row < count) {
      // Under way meanwhile.
      const Pieces next = Load(i + kPieces * warps, first, count);
      BERTH_UNROLL
      for (uint32_t n = 0; n < kPieces; ++n) {
        const Place at = PlaceOf(i + n * warps, count);
        if (at.row >= count) return;
        QuantizeBlocks(pieces.x[n].values, rows_, at.row, at.col / 32, at.there);
      }
      i += kPieces * warps;
      pieces = next;
    }
  }
  struct Place {
    uint32_t row, col;
    bool there;
  };
  BERTH_CARD_ONLY Place PlaceOf(uint32_t i, uint32_t rows) const {
    const uint32_t pieces = (a_.cols + 127) / 128;
    Place at;
    at.row = i / pieces;
    at.col = 128 * (i - at.row * pieces) + 4 * Lane();
    at.there = at.row < rows && at.col < a_.cols;
    return at;
  }
  BERTH_CARD_ONLY Pieces Load(uint32_t i, uint32_t first, uint32_t rows) const {
    Pieces to = {};
    BERTH_UNROLL
    for (uint32_t n = 0; n < kPieces; ++n) {
      const Place at = PlaceOf(i + n * (BlockThreads() / kWarp), rows);
      if (at.row >= rows) break;
      if (at.there) LoadFour(first + at.row, at.col, to.x[n].values);
    }
    return to;
  }
  BERTH_CARD_ONLY void LoadFour(uint32_t place, uint32_t col, float (&to)[4]) const {
    const size_t row = kHalf == Half::kGateUp ? pairs_[place] / a_.top_k : place;
    const float* const from = a_.x + row * a_.cols + col;
    // Of all rows, if of the first; h's are.
    if (kHalf != Half::kGateUp || IsWhole16(a_.x)) {
      LoadSharedFour(from, to);
    } else {
      BERTH_UNROLL
      for (uint32_t k = 0; k < 4; ++k) to[k] = LoadShared(from + k);
    }
  }

  const ProductArgs& a_;
  const uint32_t* const pairs_;
  ByteRows rows_;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_LOCAL_ROWS_H_
