// How the tuned kernels cut a multiprocessor's shared memory, and their launches by type.
#ifndef BERTH_KERNELS_GPU_DOT_PLAN_H_
#define BERTH_KERNELS_GPU_DOT_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/card_code.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

inline constexpr uint32_t kDotWarps = kDirect ? 8 : 16;
inline constexpr uint32_t kDotThreads = kDotWarps * 32;
inline constexpr uint32_t kDotBlocks = kDirect ? 4 : 1;  // of a multiprocessor
inline constexpr uint32_t kDotPartRows = 4;              // rows of half a tile, times its passes
inline constexpr uint32_t kDotPairs = kDirect ? 4 : 8;   // activation rows at a time
inline constexpr uint32_t kDotDepth = 4;                 // stages of a warp, at most
inline constexpr uint32_t kMostTableBytes = kDirect ? 16 << 10 : 32 << 10;
inline constexpr uint32_t kMostLocalRows = kDirect ? 0 : 32;

// Products of four weight rows with an activation row, as they wait in shared memory until there is
// enough for all lanes.
struct alignas(16) DotOutput {
  float values[2][4];  // of gate and up, or of the one matrix
  uint32_t row;        // of the matrix; of the others that follow, row_step apart
  uint32_t place;      // of the pair in the list
  uint32_t expert;
  bool wide;  // down takes the pair's unit wide
  // To a power of two of bytes on a Radeon, where clang 15 makes of a multiplication by others one
  // that the card gets wrong.
  uint8_t unused[kDirect ? 19 : 3];
};
static_assert(sizeof(DotOutput) == (kDirect ? 64 : 48));
inline constexpr uint32_t kDotEnough = 8;                            // for all lanes of a warp
inline constexpr uint32_t kDotOutputs = kDotEnough + 2 * kDotPairs;  // of a warp, at most
// Units of a share that a block keeps at hand.
inline constexpr uint32_t kDotUnits = 8;

// A tile of the launch: which of all, of which unit, and which of the unit's.
struct DotPlace {
  uint32_t number = 0, unit_at = 0, tile = 0;

  DotPlace() = default;
  BERTH_CARD DotPlace(uint32_t at, uint32_t tiles) : number(at), unit_at(at / tiles) {
    tile = at - unit_at * tiles;
  }
  BERTH_CARD void Advance(uint32_t step, uint32_t tiles) {
    number += step;
    tile += step;
    while (tile >= tiles) {
      tile -= tiles;
      ++unit_at;
    }
  }
};

// Row 0 of a unit's two matrices, or of its one twice; null: it has no address.
struct DotMatrices {
  const uint8_t* first = nullptr;
  const uint8_t* second = nullptr;
};

// What a warp knows besides what it is at: in shared memory, which leaves registers to the
// products. Written by lane 0.
struct alignas(16) DotState {
  // Of a share: its tiles, its first unit, the place of its first local row.
  uint32_t begin, end, first_unit, first_place;
  // What is to be taken: tiles, and which pairs of their units.
  uint32_t tiles_end, pair_begin, pairs;
  bool local_used, begun;
  CardUnit unit;  // of the tile that is taken
};
// And what it asks for next.
struct alignas(16) DotFill {
  DotMatrices from;
  DotPlace at;
  uint32_t unit, count;  // whose matrices these are, and its pairs
  uint32_t pass, col, pair;
};

// What the card takes of a multiprocessor's shared memory for each block.
inline constexpr uint32_t kReservedBytes = 1024;
// Of a row in a stage that holds stretches of rows: an odd number of pieces of 16 bytes, so that
// the loads of eight lanes meet different banks; up to 15 bytes in front.
constexpr uint64_t RowSlotBytes(uint64_t bytes) { return ((bytes + 30) / 16 | 1) * 16; }

// What a block of so many warps has of these, and the words that it takes shares with.
BERTH_CARD uint32_t DotFixedBytes(uint32_t warps) {
  return kShareWords * 4 + kDotUnits * static_cast<uint32_t>(sizeof(CardUnit)) +
         warps * static_cast<uint32_t>(sizeof(DotState) + sizeof(DotFill)) +
         warps * kDotOutputs * static_cast<uint32_t>(sizeof(DotOutput));
}
// And an activation row in 8 bits; `halves`: the format uses ByteRows::halves.
BERTH_CARD uint32_t LocalRowBytes(uint32_t cols, bool halves) {
  const uint32_t stride = (cols + 255) / 256 * 256;
  return stride + stride / 32 * 4 * (halves ? 4 : 2);
}

// The same for matrix instructions; a Radeon's are not used yet.
inline constexpr bool kHaveMatrixKernels = !kDirect;
inline constexpr uint32_t kMatrixThreads = 128;
inline constexpr uint32_t kMatrixPartRows = 8;
inline constexpr uint32_t kMatrixPairs = 32;
inline constexpr uint32_t kMatrixDepth = 2;
inline constexpr uint32_t kMostMatrixTableBytes = 8 << 10;
// Eight sums of 16 weight rows with 16 activation rows. One place more to a row of these: lanes
// meet in no bank.
inline constexpr uint32_t kMatrixMeetingStride = 17;
inline constexpr uint32_t kMatrixMeetingBytes = 16 * 8 * kMatrixMeetingStride * 4;

// A kernel of one format.
struct TunedKernel {
  uint32_t blocks = 0;       // of a multiprocessor, at most
  uint32_t table_bytes = 0;  // of shared memory
  gpuError_t (*prepare)(size_t shared_bytes) = nullptr;
  gpuError_t (*launch)(const ProductArgs& args, uint32_t blocks, uint32_t threads,
                       size_t shared_bytes, gpuStream_t stream) = nullptr;
};
struct TunedKernels {
  TensorType type;
  TunedKernel dots;                  // dot_kernel.h
  TunedKernel matrices;              // matrix_kernel.h; null pointers: none
  TunedKernel wide;                  // dots with wide units; null pointers: none
  uint32_t elements = 0, bytes = 0;  // of a block of weights
  bool halves = false;               // inputs need ByteRows::halves
  // Of its shared memory: what it needs besides the table, and of a weight row (wide_plan.h).
  uint32_t wide_table_bytes = 0;
  uint32_t wide_slot_bytes = 0;
};

// Of the call's types, if they and its sizes are some that tuned kernels take; else null.
const TunedKernels* FindTunedKernels(const ProductArgs& args);
gpuError_t PrepareTunedKernels();

// Which kernel of the type takes these matrices, if any.
enum class Tuned : uint8_t { kNone, kDots, kMatrices };
// `many`: the units have so many pairs that matrix instructions pay. Sets how the kernel cuts
// shared memory.
Tuned PlanTuned(bool many, uint32_t processors, ProductArgs* args);
// Pairs of a wide unit at a time, for Tuned::kDots; 0: it takes no wide units of these matrices.
uint32_t WidePairs(const ProductArgs& args);
// As planned. With ProductArgs::wide_over set, wide units too.
gpuError_t LaunchTuned(Tuned tuned, const ProductArgs& args, uint32_t processors,
                       gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_PLAN_H_
