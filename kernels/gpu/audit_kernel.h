// Bytes of a slot against what they should be, on the card.
#ifndef BERTH_KERNELS_GPU_AUDIT_KERNEL_H_
#define BERTH_KERNELS_GPU_AUDIT_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

gpuError_t PrepareAuditKernel();
// *differ += the bytes that differ.
gpuError_t LaunchAuditKernel(const std::byte* slot, const std::byte* expected, size_t bytes,
                             uint64_t* differ, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_AUDIT_KERNEL_H_
