// CUDA under the common names: the run time's calls, and launches.
#ifndef BERTH_KERNELS_GPU_VENDOR_CUDA_H_
#define BERTH_KERNELS_GPU_VENDOR_CUDA_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/vendor_cuda_runtime.h"

namespace berth::kernels::gpu {

#if defined(__CUDACC__)
// `overlap`: see WaitForLastLaunch (card_warp.h); cards before sm_90 have no such launches.
template <typename... P, typename... A>
gpuError_t gpuLaunch(void (*kernel)(P...), uint32_t blocks, uint32_t threads, size_t shared_bytes,
                     gpuStream_t stream, bool overlap, const A&... args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  if (overlap) {
    int card = 0, major = 0;
    cudaError_t error = cudaGetDevice(&card);
    if (error == cudaSuccess) {
      error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, card);
    }
    if (error != cudaSuccess) return error;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = major >= 9 ? 1 : 0;
  }
  return cudaLaunchKernelEx(&config, kernel, P(args)...);
}
// Once per kernel and card, before its first launch with as much shared memory. All kernels ask for
// as much of a multiprocessor's cache as shared memory: it is not cut anew between two launches,
// which would have to wait for each other.
template <typename... P>
gpuError_t gpuPrepareKernel(void (*kernel)(P...), size_t shared_bytes) {
  cudaFuncAttributes attributes;  // asking loads the kernel
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return error;
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes));
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              cudaSharedmemCarveoutMaxShared);
}
#endif

// Shared memory that a block may have.
inline gpuError_t gpuBlockSharedBytes(size_t* bytes) {
  int card = 0, value = 0;
  cudaError_t error = cudaGetDevice(&card);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, card);
  }
  *bytes = static_cast<size_t>(value);
  return error;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_VENDOR_CUDA_H_
