// Products of every type at every alignment, by one kernel that looks at the type as it runs: what
// is left where no tuned kernel fits.
#ifndef BERTH_KERNELS_GPU_PLAIN_KERNEL_H_
#define BERTH_KERNELS_GPU_PLAIN_KERNEL_H_

#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

gpuError_t PreparePlainKernel();
gpuError_t LaunchPlain(const ProductArgs& args, uint32_t processors, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_PLAIN_KERNEL_H_
