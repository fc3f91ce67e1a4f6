// Activation rows that a block of the dot kernel needs, in its shared memory. Those of h it puts
// into 8 bits by itself: so the launch before need not wait until all of a row is there.
#ifndef BERTH_KERNELS_GPU_LOCAL_ROWS_H_
#define BERTH_KERNELS_GPU_LOCAL_ROWS_H_

#include <cstddef>

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/staging.h"

namespace berth::kernels::gpu {

class LocalRows {
 public:
  // `shared`: of a.local_rows rows, at a multiple of 16.
  BERTH_CARD_ONLY LocalRows(const ProductArgs& a, uint8_t* shared, bool halves) : a_(a) {
    rows_.stride = (a.cols + 255) / 256 * 256;
    const uint32_t floats = a.local_rows * rows_.stride / 32;
    rows_.q = reinterpret_cast<int8_t*>(shared);
    rows_.d = reinterpret_cast<float*>(shared + a.local_rows * rows_.stride);
    rows_.s = rows_.d + floats;
    rows_.halves = halves ? rows_.s + floats : nullptr;
  }

  // The whole block: the inputs of places [first, first + count) as rows 0 and so on. Synchronizes
  // behind it.
  BERTH_CARD_ONLY void Make(uint32_t first, uint32_t count) const {
    if (a_.down) {
      Quantize(first, count);
    } else {
      Copy(first, count);
    }
    SyncBlock();
  }

  BERTH_CARD_ONLY const ByteRows& rows() const { return rows_; }

 private:
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

  // Four values a lane: 128 columns of a row by a warp. The next ones are under way meanwhile.
  BERTH_CARD_ONLY void Quantize(uint32_t first, uint32_t count) const {
    const uint32_t warps = BlockThreads() / kWarp, pieces = (a_.cols + 127) / 128;
    uint32_t i = ThreadIndex() / kWarp;
    Piece piece = PieceOf(i, pieces, first, count);
    BERTH_NO_UNROLL
    for (; i < count * pieces; i += warps) {
      const Piece next = PieceOf(i + warps, pieces, first, count);
      QuantizeBlocks(piece.x.values, rows_, piece.row, piece.col / 32, piece.there);
      piece = next;
    }
  }
  struct Piece {
    uint32_t row, col;
    bool there;
    FourFloats x;
  };
  BERTH_CARD_ONLY Piece PieceOf(uint32_t i, uint32_t pieces, uint32_t first, uint32_t rows) const {
    Piece piece;
    piece.row = i / pieces;
    piece.col = 128 * (i - piece.row * pieces) + 4 * Lane();
    piece.there = piece.row < rows && piece.col < a_.cols;
    piece.x = {};
    if (piece.there) {
      const size_t row = first + piece.row;
      LoadSharedFour(a_.h + row * a_.cols + piece.col, piece.x.values);
    }
    return piece;
  }

  const ProductArgs& a_;
  ByteRows rows_;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_LOCAL_ROWS_H_
