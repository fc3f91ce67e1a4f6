// Names that only measuring needs, under common names as in vendor.h: timed events, captured
// launches, the memory's peak rate. The emulated card has none of them (BERTH_GPU_TIMING is 0).
#ifndef BERTH_KERNELS_GPU_VENDOR_TIMING_H_
#define BERTH_KERNELS_GPU_VENDOR_TIMING_H_

#include "kernels/gpu/vendor.h"

#if defined(BERTH_GPU_CUDA)
#define BERTH_GPU_TIMING 1
#define gpuEventDefault cudaEventDefault
#define gpuEventElapsedTime cudaEventElapsedTime
#define gpuGraph_t cudaGraph_t
#define gpuGraphExec_t cudaGraphExec_t
#define gpuGraphDestroy cudaGraphDestroy
#define gpuGraphExecDestroy cudaGraphExecDestroy
#define gpuGraphInstantiate cudaGraphInstantiateWithFlags
#define gpuGraphLaunch cudaGraphLaunch
#define gpuStreamBeginCapture cudaStreamBeginCapture
#define gpuStreamEndCapture cudaStreamEndCapture
#define gpuStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define gpuDeviceGetAttribute cudaDeviceGetAttribute
#define gpuDevAttrMemoryClockRate cudaDevAttrMemoryClockRate
#define gpuDevAttrMemoryBusWidth cudaDevAttrGlobalMemoryBusWidth
#elif defined(BERTH_GPU_HIP)
#define BERTH_GPU_TIMING 1
#define gpuEventDefault hipEventDefault
#define gpuEventElapsedTime hipEventElapsedTime
#define gpuGraph_t hipGraph_t
#define gpuGraphExec_t hipGraphExec_t
#define gpuGraphDestroy hipGraphDestroy
#define gpuGraphExecDestroy hipGraphExecDestroy
#define gpuGraphInstantiate hipGraphInstantiateWithFlags
#define gpuGraphLaunch hipGraphLaunch
#define gpuStreamBeginCapture hipStreamBeginCapture
#define gpuStreamEndCapture hipStreamEndCapture
#define gpuStreamCaptureModeThreadLocal hipStreamCaptureModeThreadLocal
#define gpuDeviceGetAttribute hipDeviceGetAttribute
#define gpuDevAttrMemoryClockRate hipDeviceAttributeMemoryClockRate
#define gpuDevAttrMemoryBusWidth hipDeviceAttributeMemoryBusWidth
#else
#define BERTH_GPU_TIMING 0
#endif

#endif  // BERTH_KERNELS_GPU_VENDOR_TIMING_H_
