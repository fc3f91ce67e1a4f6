// Which calls the kernels for few pairs take (few_kernel.h), and how they cut shared memory.
#ifndef BERTH_KERNELS_GPU_FEW_PLAN_H_
#define BERTH_KERNELS_GPU_FEW_PLAN_H_

#include <cstdint>

#include "kernels/gpu/few_args.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

// Both launches of a call.
struct FewCall {
  FewArgs gate_up, down;
};

// False: the kernels do not take it. The three are as for the other kernels.
bool PlanFew(const PrepareArgs& prepare, const ProductArgs& gate_up, const ProductArgs& down,
             uint32_t processors, FewCall* call);
gpuError_t LaunchFew(const FewCall& call, uint32_t processors, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_PLAN_H_
