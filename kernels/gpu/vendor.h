// The one name for a card's run time: gpuMalloc, gpuStream_t and so on, whoever made the card.
// vendor_cuda.h, vendor_hip.h and vendor_emulated.h map the same few dozen names; nothing outside
// kernels/gpu includes any of them.
#ifndef BERTH_KERNELS_GPU_VENDOR_H_
#define BERTH_KERNELS_GPU_VENDOR_H_

#if defined(BERTH_GPU_CUDA)
#include "kernels/gpu/vendor_cuda.h"
#elif defined(BERTH_GPU_HIP)
#include "kernels/gpu/vendor_hip.h"
#else
#include "kernels/gpu/vendor_emulated.h"
#endif

#endif  // BERTH_KERNELS_GPU_VENDOR_H_
