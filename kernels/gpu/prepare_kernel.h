// The first launch of a grouped call: block 0 finds out which units run and which pairs each has,
// the others put rows into 8 bits.
#ifndef BERTH_KERNELS_GPU_PREPARE_KERNEL_H_
#define BERTH_KERNELS_GPU_PREPARE_KERNEL_H_

#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

// Experts of a layer at most: there are two words for each in shared memory.
inline constexpr uint32_t kMostExperts = 4096;

gpuError_t PreparePrepareKernel();
gpuError_t LaunchPrepare(const PrepareArgs& args, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_PREPARE_KERNEL_H_
