// Makes the kernels of calls in one launch: BERTH_CALL_KERNEL(Iq3_S_Iq4_Nl, kIQ3_S, CardIq3_S,
// kIQ4_NL, CardIq4_Nl) in a .cu file. As dot_instance.h says, no constants.
#ifndef BERTH_KERNELS_GPU_CALL_INSTANCE_H_
#define BERTH_KERNELS_GPU_CALL_INSTANCE_H_

#include "kernels/gpu/call_kernel.h"
#include "kernels/gpu/call_plan.h"

namespace berth::kernels::gpu {

template <typename FG, typename FD>
CallKernelOf MakeCallKernel(TensorType gate_up, TensorType down) {
  CallKernelOf kernel = {gate_up, down};
  if constexpr (kHaveCallKernels) {
    constexpr auto kKernel = CallKernel<FG, FD>;
    kernel.table_bytes = CallTables<FG, FD>::kWords * 4;
    kernel.prepare = [](size_t shared_bytes) { return gpuPrepareKernel(kKernel, shared_bytes); };
    kernel.launch = [](const CallArgs& args, uint32_t blocks, size_t shared_bytes,
                       gpuStream_t stream) {
      return gpuLaunch(kKernel, blocks, args.warps * 32, shared_bytes, stream, true, args);
    };
  }
  return kernel;
}

}  // namespace berth::kernels::gpu

#define BERTH_CALL_KERNEL(name, gate_up, GateUp, down, Down) \
  extern CallKernelOf name##Call;                            \
  CallKernelOf name##Call = MakeCallKernel<GateUp, Down>(TensorType::gate_up, TensorType::down);

#endif  // BERTH_KERNELS_GPU_CALL_INSTANCE_H_
