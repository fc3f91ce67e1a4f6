// Makes a format's tuned kernels: BERTH_TUNED_KERNELS(kQ4_0, CardQ4_0) in a .cu file. Their
// description is never written; it is no constant because hipcc would give one to the card, too.
#ifndef BERTH_KERNELS_GPU_DOT_INSTANCE_H_
#define BERTH_KERNELS_GPU_DOT_INSTANCE_H_

#include "kernels/gpu/dot_kernel.h"
#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/matrix_kernel.h"

namespace berth::kernels::gpu {

template <auto kKernel>
TunedKernel TunedKernelOf(uint32_t blocks, uint32_t table_words) {
  return {blocks, table_words * 4, 0,
          [](size_t shared_bytes) { return gpuPrepareKernel(kKernel, shared_bytes); },
          [](const ProductArgs& args, uint32_t blocks, uint32_t threads, size_t shared_bytes,
             gpuStream_t stream) {
            return gpuLaunch(kKernel, blocks, threads, shared_bytes, stream, true, args);
          }};
}
template <typename F>
TunedKernels TunedKernelsOf(TensorType type) {
  TunedKernels kernels;
  kernels.type = type;
  kernels.elements = F::kElements;
  kernels.bytes = F::kBytes;
  kernels.halves = F::kKind.minima && F::kKind.halves;
  kernels.dots = TunedKernelOf<DotKernel<F>>(kDotBlocks, F::kTableWords * kDotCopies<F>);
  if constexpr (kHasWide) {
    constexpr uint32_t kCopies = kWideDotCopies<F>, kRarely = kDotCopies<F>;
    kernels.wide = TunedKernelOf<WideKernel<F>>(kDotBlocks, F::kTableWords * kCopies);
    kernels.wide.wide_table_bytes = kWideTableBytes<F, kCopies>;
    kernels.rarely_wide = TunedKernelOf<RarelyWideKernel<F>>(kDotBlocks, F::kTableWords * kRarely);
    kernels.rarely_wide.wide_table_bytes = kWideTableBytes<F, kRarely>;
    kernels.wide_slot_bytes = WideSlotBytes(F::kBytes, F::kElements);
  }
  if constexpr (kHaveMatrixKernels) {
    kernels.matrices =
        TunedKernelOf<MatrixKernel<F>>(kMatrixBlocks<F>, F::kTableWords * kMatrixCopies<F>);
  }
  return kernels;
}

}  // namespace berth::kernels::gpu

#define BERTH_TUNED_KERNELS(name, Decoder) \
  extern TunedKernels name##Kernels;       \
  TunedKernels name##Kernels = TunedKernelsOf<Decoder>(TensorType::name);

#endif  // BERTH_KERNELS_GPU_DOT_INSTANCE_H_
