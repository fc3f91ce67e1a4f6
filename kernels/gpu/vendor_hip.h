// HIP under the common names: the run time's calls, and what kernels are launched with.
#ifndef BERTH_KERNELS_GPU_VENDOR_HIP_H_
#define BERTH_KERNELS_GPU_VENDOR_HIP_H_

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#endif

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "kernels/gpu/vendor_hip_runtime.h"

namespace berth::kernels::gpu {

// `overlap` asks for what no Radeon has: launches of a stream run one after the other.
template <typename... P, typename... A>
gpuError_t gpuLaunch(void (*kernel)(P...), uint32_t blocks, uint32_t threads, size_t shared_bytes,
                     gpuStream_t stream, bool /*overlap*/, const A&... args) {
  std::tuple<P...> values(args...);
  return std::apply(
      [&](auto&... value) {
        void* pointers[] = {&value..., nullptr};
        return hipLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads),
                               pointers, shared_bytes, stream);
      },
      values);
}

// Once per kernel and card, before its first launch with as much shared memory: asking for a
// kernel's attributes loads it, so that no first launch meets a kernel that spins. Blocks have at
// most 64 KiB of shared memory, and that much needs no permission.
template <typename... P>
gpuError_t gpuPrepareKernel(void (*kernel)(P...), size_t shared_bytes) {
  hipFuncAttributes attributes;
  const auto* const function = reinterpret_cast<const void*>(kernel);
  if (const gpuError_t error = hipFuncGetAttributes(&attributes, function); error != hipSuccess) {
    return error;
  }
  return hipFuncSetAttribute(function, hipFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes));
}

// Shared memory that a block may have.
inline gpuError_t gpuBlockSharedBytes(size_t* bytes) {
  int card = 0;
  if (const gpuError_t error = hipGetDevice(&card); error != hipSuccess) return error;
  int value = 0;
  const gpuError_t error =
      hipDeviceGetAttribute(&value, hipDeviceAttributeMaxSharedMemoryPerBlock, card);
  *bytes = static_cast<size_t>(value);
  return error;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_VENDOR_HIP_H_
