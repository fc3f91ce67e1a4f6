// Names that code for a card is written with, whatever compiles it: nvcc, hipcc, or an ordinary
// compiler for the emulated card and for tests. Instructions with no portable spelling have one
// here, each with a plain C++ twin that gives the same bits.
#ifndef BERTH_KERNELS_GPU_CARD_CODE_H_
#define BERTH_KERNELS_GPU_CARD_CODE_H_

#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define BERTH_CARD __host__ __device__ __forceinline__
#define BERTH_CARD_ONLY __device__ __forceinline__
#else
#define BERTH_CARD inline
#define BERTH_CARD_ONLY inline
#endif

#if defined(__CUDA_ARCH__)
#define BERTH_ON_NVIDIA 1  // device code for an NVIDIA card is being compiled
#elif defined(__HIP_DEVICE_COMPILE__)
#define BERTH_ON_RADEON 1  // device code for a Radeon is being compiled
#endif

#endif  // BERTH_KERNELS_GPU_CARD_CODE_H_
