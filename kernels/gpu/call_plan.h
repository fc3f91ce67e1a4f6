// Calls of few rows in one launch (call_kernel.h): which there are, and how they cut a block's
// shared memory.
#ifndef BERTH_KERNELS_GPU_CALL_PLAN_H_
#define BERTH_KERNELS_GPU_CALL_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

inline constexpr bool kHaveCallKernels = !kDirect;
inline constexpr uint32_t kMostCallPairs = 96;  // and so many units
inline constexpr uint32_t kMostCallShares = 1024;

// What a block has in front of its tables: the words of its shares of gate and up and of down; its
// state and the sums of its warps; units at hand of both; the call's units, pairs by place and ids;
// barriers of the stages for both.
inline constexpr uint32_t kCallStateWords = 4;
inline constexpr uint32_t kCallWords = 2 * kShareWords + kCallStateWords + kDotWarps;
inline constexpr uint32_t kCallAtHandAt = (kCallWords * 4 + 15) / 16 * 16;
inline constexpr uint32_t kCallUnitsAt = kCallAtHandAt + 2 * kDotUnits * sizeof(CardUnit);
inline constexpr uint32_t kCallPairsAt = kCallUnitsAt + kMostCallPairs * sizeof(CardUnit);
inline constexpr uint32_t kCallIdsAt = kCallPairsAt + kMostCallPairs * 4;
inline constexpr uint32_t kCallBarriersAt = (kCallIdsAt + kMostCallPairs * 4 + 127) / 128 * 128;
BERTH_CARD uint32_t CallFixedBytes(uint32_t warps) {
  return kCallBarriersAt + 2 * warps * kDotBarriers * static_cast<uint32_t>(sizeof(uint64_t));
}

// The kernel of a type of gate and up and one of down.
struct CallKernelOf {
  TensorType gate_up, down;
  uint32_t table_bytes = 0;  // of the larger table
  gpuError_t (*prepare)(size_t shared_bytes) = nullptr;
  gpuError_t (*launch)(const CallArgs& args, uint32_t blocks, size_t shared_bytes,
                       gpuStream_t stream) = nullptr;
};

gpuError_t PrepareCallKernels();
// Whether there is a kernel for such a call. Sets how it cuts shared memory.
bool PlanCall(uint32_t processors, CallArgs* args);
// As planned.
gpuError_t LaunchCall(const CallArgs& args, uint32_t processors, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CALL_PLAN_H_
