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
inline constexpr uint32_t kDotPartRows = 4;             // rows of half a tile, times row_step
inline constexpr uint32_t kDotPairs = kDirect ? 4 : 8;  // activation rows at a time
inline constexpr uint32_t kDotDepth = 4;                // stages of a warp, at most
inline constexpr uint32_t kMostTableBytes = kDirect ? 16 << 10 : 64 << 10;
inline constexpr uint32_t kDotBlocks = kDirect ? 4 : 1;  // of a multiprocessor

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
  TunedKernel dots;      // dot_kernel.h
  TunedKernel matrices;  // matrix_kernel.h; null pointers: none
  TunedKernel wide;      // dots with wide units; null pointers: none
  // Of its shared memory: what it needs besides the table, and of a weight row (wide_plan.h).
  uint32_t wide_table_bytes = 0;
  uint32_t wide_slot_bytes = 0;
};

gpuError_t PrepareTunedKernels();

// Which kernel of the type takes these matrices, if any.
enum class Tuned : uint8_t { kNone, kDots, kMatrices };
// `many`: the units have so many pairs that matrix instructions pay.
Tuned TunedFor(const ProductArgs& args, bool many);
// Pairs of a wide unit at a time, for Tuned::kDots; 0: it takes no wide units of these matrices.
uint32_t WidePairs(const ProductArgs& args);
// With ProductArgs::wide_over set, wide units too.
gpuError_t LaunchTuned(Tuned tuned, ProductArgs args, uint32_t processors, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_PLAN_H_
