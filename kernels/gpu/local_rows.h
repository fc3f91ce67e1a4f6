// Activation rows that a block of the dot kernel needs, in its shared memory. Those of h it puts
// into 8 bits by itself: so the launch before need not wait until all of a row is there.
#ifndef BERTH_KERNELS_GPU_LOCAL_ROWS_H_
#define BERTH_KERNELS_GPU_LOCAL_ROWS_H_

#include <cstddef>

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/row_sums.h"

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
  // A thread a piece of 16 bytes, several at a time.
  BERTH_CARD_ONLY void Copy(uint32_t first, uint32_t count) const {
    constexpr uint32_t kAtOnce = 4;
    const uint32_t of_q = rows_.stride / 16, of_d = rows_.stride / 128;
    const uint32_t pieces = of_q + of_d * (rows_.halves != nullptr ? 4 : 2);
    for (uint32_t i = ThreadIndex(); i < count * pieces; i += kAtOnce * BlockThreads()) {
      uint32_t rows[kAtOnce];
      BERTH_UNROLL
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        const uint32_t at = i + n * BlockThreads();
        rows[n] = at < count * pieces ? a_.list.pairs[first + at / pieces] / a_.top_k : 0;
      }
      FourWords values[kAtOnce];
      BERTH_UNROLL
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        const uint32_t at = i + n * BlockThreads();
        if (at < count * pieces) values[n] = *PieceAt(a_.bytes, rows[n], at % pieces);
      }
      BERTH_UNROLL
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        const uint32_t at = i + n * BlockThreads();
        if (at < count * pieces) *PieceAt(rows_, at / pieces, at % pieces) = values[n];
      }
    }
  }
  // Piece `piece` of a row: those of q, d, s and halves, one behind the other.
  BERTH_CARD_ONLY FourWords* PieceAt(const ByteRows& of, size_t row, uint32_t piece) const {
    const uint32_t of_q = rows_.stride / 16, of_d = rows_.stride / 128;
    if (piece < of_q) return reinterpret_cast<FourWords*>(of.q) + row * of_q + piece;
    piece -= of_q;
    if (piece < of_d) return reinterpret_cast<FourWords*>(of.d) + row * of_d + piece;
    piece -= of_d;
    if (piece < of_d) return reinterpret_cast<FourWords*>(of.s) + row * of_d + piece;
    return reinterpret_cast<FourWords*>(of.halves) + row * 2 * of_d + piece - of_d;
  }

  // Four values a lane: 128 columns of a row by a warp.
  BERTH_CARD_ONLY void Quantize(uint32_t first, uint32_t count) const {
    constexpr uint32_t kAtOnce = 4;  // loads under way
    const uint32_t warps = BlockThreads() / kWarp, pieces = (a_.cols + 127) / 128;
    for (uint32_t i = ThreadIndex() / kWarp; i < count * pieces; i += kAtOnce * warps) {
      FourFloats x[kAtOnce];
      BERTH_UNROLL
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        const Piece piece = PieceOf(i + n * warps, pieces, count);
        x[n] = {};
        if (!piece.there) continue;
        LoadSharedFour(a_.h + static_cast<size_t>(first + piece.row) * a_.cols + piece.col,
                       x[n].values);
      }
      BERTH_UNROLL
      for (uint32_t n = 0; n < kAtOnce; ++n) {
        if (i + n * warps >= count * pieces) break;
        const Piece piece = PieceOf(i + n * warps, pieces, count);
        QuantizeBlocks(x[n].values, rows_, piece.row, piece.col / 32, piece.there);
      }
    }
  }
  struct Piece {
    uint32_t row, col;
    bool there;
  };
  BERTH_CARD_ONLY Piece PieceOf(uint32_t i, uint32_t pieces, uint32_t rows) const {
    const uint32_t row = i / pieces, col = 128 * (i - row * pieces) + 4 * Lane();
    return {row, col, row < rows && col < a_.cols};
  }

  const ProductArgs& a_;
  ByteRows rows_;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_LOCAL_ROWS_H_
