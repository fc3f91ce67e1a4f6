// The weighted sum of a step whose partials came in several waves.
#ifndef BERTH_KERNELS_GPU_REDUCE_KERNEL_H_
#define BERTH_KERNELS_GPU_REDUCE_KERNEL_H_

#include "kernels/expert/grouped_call.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

gpuError_t PrepareReduceKernel();
gpuError_t LaunchReduceKernel(const ReduceCall& call, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_REDUCE_KERNEL_H_
