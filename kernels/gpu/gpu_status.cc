#include "kernels/gpu/gpu_status.h"

namespace berth::kernels::gpu {

Status GpuStatus(gpuError_t error, std::string_view where, std::string_view call) {
  if (error == gpuSuccess) return Status();
  (void)gpuGetLastError();
  std::string text(where);
  text.append(": ").append(BERTH_GPU_PREFIX).append(call).append(": ");
  text += gpuGetErrorString(error);
  if (error == gpuErrorMemoryAllocation) return ResourceExhaustedError(text);
  if (error == gpuErrorNoDevice) return NotFoundError(text);
  return UnavailableError(text);
}

}  // namespace berth::kernels::gpu
