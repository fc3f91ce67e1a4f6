#include <algorithm>

#include "kernels/gpu/prepare_kernel.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/wide_rows.h"
#include "kernels/gpu/work_list.h"

namespace berth::kernels::gpu {
namespace {

constexpr uint32_t kWarps = kListThreads / kWarp;
constexpr uint32_t kMostRowBlocks = 1024;

// Of a row, what a warp takes at a time: four columns a lane.
struct Piece {
  uint32_t row = 0, col = 0;
  float x[4] = {};
};
constexpr uint32_t kPieceCols = 4 * kWarp;
static_assert(kPieceCols == kWideColumns);

BERTH_CARD_ONLY Piece PieceOf(const PrepareArgs& a, uint32_t pieces, uint32_t i, bool whole) {
  Piece piece;
  piece.row = i / pieces;
  piece.col = (i - piece.row * pieces) * kPieceCols + 4 * Lane();
  if (piece.row >= a.rows) return piece;
  const float* const from = a.x + static_cast<size_t>(piece.row) * a.cols + piece.col;
  if (whole) {
    if (piece.col < a.cols) LoadSharedFour(from, piece.x);
    return piece;
  }
  BERTH_UNROLL
  for (uint32_t k = 0; k < 4; ++k) {
    if (piece.col + k < a.cols) piece.x[k] = LoadShared(from + k);
  }
  return piece;
}

// Rows into 8 bits, BF16 or both. The next piece is under way meanwhile.
BERTH_CARD_ONLY void ConvertRows(const PrepareArgs& a) {
  const uint32_t pieces = (a.cols + kPieceCols - 1) / kPieceCols, count = a.rows * pieces;
  const uint32_t warps = (GridBlocks() - 1) * kWarps;
  // Of all rows, if of the first.
  const bool whole = a.cols % 4 == 0 && IsWhole16(a.x);
  uint32_t i = (BlockIndex() - 1) * kWarps + ThreadIndex() / kWarp;
  Piece piece = PieceOf(a, pieces, i, whole);
  BERTH_NO_UNROLL
  for (; i < count; i += warps) {
    const Piece next = PieceOf(a, pieces, i + warps, whole);
    if (a.to.q != nullptr) {
      const uint32_t block = piece.col / 32;
      QuantizeBlocks(piece.x, a.to, piece.row, block, block * 32 < a.cols);
    }
    if (a.wide.at != nullptr) StoreWideFour(a.wide, piece.row, piece.col, piece.x);
    piece = next;
  }
}

BERTH_KERNEL(kListThreads, 1) PrepareKernel(const BERTH_GRID_CONSTANT PrepareArgs a) {
  BERTH_SHARED_MEMORY(shared);
  WaitForLastLaunch();
  NextLaunchMayStart();
  if (BlockIndex() == 0) {
    if (ThreadIndex() < 2 && a.turns != nullptr) a.turns[ThreadIndex()] = 0;
    MakeWorkList(a, reinterpret_cast<uint32_t*>(shared));
    return;
  }
  if (a.to.q != nullptr || a.wide.at != nullptr) ConvertRows(a);
}

}  // namespace

gpuError_t PreparePrepareKernel() {
  constexpr uint32_t kLeast = 48 << 10;  // of shared memory that a block may have on any card
  static_assert(ListWords(kMostExperts) * sizeof(uint32_t) <= kLeast);
  return gpuPrepareKernel(PrepareKernel, ListWords(kMostExperts) * sizeof(uint32_t));
}

gpuError_t LaunchPrepare(const PrepareArgs& args, gpuStream_t stream) {
  const bool rounds = args.to.q != nullptr || args.wide.at != nullptr;
  const uint64_t pieces = (args.cols + kPieceCols - 1) / kPieceCols;
  const uint64_t items = rounds ? args.rows * pieces : 1;
  const uint64_t blocks = std::min<uint64_t>((items + kWarps - 1) / kWarps, kMostRowBlocks);
  return gpuLaunch(PrepareKernel, 1 + static_cast<uint32_t>(std::max<uint64_t>(blocks, 1)),
                   kListThreads, WorkListWords(args) * sizeof(uint32_t), stream, true, args);
}

}  // namespace berth::kernels::gpu
