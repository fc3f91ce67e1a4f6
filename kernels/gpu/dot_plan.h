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
inline constexpr uint32_t kFewestDotWarps = 4;  // with fewer the plain kernel is as good
inline constexpr uint32_t kDotThreads = kDotWarps * 32;
inline constexpr uint32_t kDotBlocks = kDirect ? 4 : 1;  // of a multiprocessor
inline constexpr uint32_t kDotPartRows = 4;              // rows of half a tile
inline constexpr uint32_t kDotPairs = kDirect ? 4 : 8;   // activation rows at a time
inline constexpr uint32_t kDotDepth = 4;                 // stages of a warp, at most
inline constexpr uint32_t kMostTableBytes = kDirect ? 16 << 10 : 64 << 10;
inline constexpr uint32_t kMostWideTableBytes = 32 << 10;  // beside many wide units
inline constexpr uint32_t kMostLocalRows = kDirect ? 0 : 32;

// Products of four weight rows with an activation row, as they wait in a Radeon's shared memory
// until there is enough for all lanes.
struct alignas(16) DotOutput {
  float values[2][4];  // of gate and up, or of the one matrix
  uint32_t row;        // of the first, of the matrix
  uint32_t place;      // of the pair in the list
  uint32_t expert;
  bool wide;  // down takes the pair's unit wide
  // To a power of two of bytes on a Radeon, where clang 15 makes of a multiplication by others one
  // that the card gets wrong.
  uint8_t unused[19];
};
static_assert(sizeof(DotOutput) == 64);
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
    Step(step);
    Settle(tiles);
  }
  // The same in two steps: between them, the tile may be one beyond the unit's last.
  BERTH_CARD void Step(uint32_t step) {
    number += step;
    tile += step;
  }
  BERTH_CARD void Settle(uint32_t tiles) {
    while (tile >= tiles) {
      tile -= tiles;
      ++unit_at;
    }
  }
};

// What a warp of a Radeon knows besides what it is at: in shared memory, which leaves registers to
// the products. Written by lane 0.
struct alignas(16) DotState {
  uint32_t tiles_end;  // of the share
  CardUnit unit;       // of the tile that is taken
};

// A copy of a kernel's arguments.
inline constexpr uint32_t kDotArgsBytes = kDirect ? 0 : (sizeof(ProductArgs) + 15) / 16 * 16;
// Of a stage of eight rows (row_stages.h).
BERTH_CARD uint32_t StageBytes(const ProductArgs& a) {
  return a.part_bytes != 0 ? 2 * a.part_bytes : 8 * a.row_stride;
}

// Words of 8 bytes of a warp: the barriers of its stages, and how often these have been read.
inline constexpr uint32_t kDotBarriers = 2 * kDotDepth;

// What a block of so many warps has in front of its table: the words that it takes shares with;
// units, a copy of the arguments and the stages' barriers, or, on a Radeon, what its warps know and
// what waits. Of a multiple of four warps a multiple of 128, as what the matrix units read by
// themselves should begin at.
inline constexpr uint32_t kDotBarriersAt =
    (kShareWords * 4 + kDotUnits * sizeof(CardUnit) + kDotArgsBytes + 127) / 128 * 128;
BERTH_CARD uint32_t DotFixedBytes(uint32_t warps) {
  if (kDirect) {
    return kShareWords * 4 +
           warps * static_cast<uint32_t>(sizeof(DotState) + kDotOutputs * sizeof(DotOutput));
  }
  return kDotBarriersAt + warps * kDotBarriers * static_cast<uint32_t>(sizeof(uint64_t));
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
  uint32_t blocks = 0;            // of a multiprocessor, at most
  uint32_t table_bytes = 0;       // of shared memory
  uint32_t wide_table_bytes = 0;  // what wide units need besides (wide_plan.h)
  gpuError_t (*prepare)(size_t shared_bytes) = nullptr;
  gpuError_t (*launch)(const ProductArgs& args, uint32_t blocks, uint32_t threads,
                       size_t shared_bytes, gpuStream_t stream) = nullptr;
};
struct TunedKernels {
  TensorType type;
  TunedKernel dots;      // dot_kernel.h
  TunedKernel matrices;  // matrix_kernel.h; null pointers: none
  // Dots with wide units, of which most units are some, or few; null pointers: none.
  TunedKernel wide, rarely_wide;
  uint32_t elements = 0, bytes = 0;  // of a block of weights
  bool halves = false;               // inputs need ByteRows::halves
  uint32_t wide_slot_bytes = 0;      // of shared memory, for a weight row of a wide unit
};

gpuError_t PrepareTunedKernels();

// Of the matrices' types, if they and their sizes are some that tuned kernels take; else null.
const TunedKernels* FindTuned(const ProductArgs& args);
// ProductArgs::row_step of dots.
uint32_t RowStep(const ProductArgs& args);
// The stages of a warp of dots that has `room` bytes for them (row_stages.h); row_step has been
// set. False: there is too little.
bool CutStages(const TunedKernels& kernels, uint64_t room, ProductArgs* a);

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
