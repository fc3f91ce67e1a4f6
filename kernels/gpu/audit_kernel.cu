#include "kernels/gpu/audit_kernel.h"
#include "kernels/gpu/card_warp.h"

namespace berth::kernels::gpu {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kMostBlocks = 256;

BERTH_KERNEL(kThreads, 1)
AuditKernel(const uint8_t* slot, const uint8_t* expected, uint64_t bytes, uint64_t* differ) {
  WaitForLastLaunch();
  const uint64_t threads = static_cast<uint64_t>(GridBlocks()) * kThreads;
  uint32_t count = 0;
  for (uint64_t i = static_cast<uint64_t>(BlockIndex()) * kThreads + ThreadIndex(); i < bytes;
       i += threads) {
    count += slot[i] != expected[i] ? 1 : 0;
  }
  for (uint32_t lanes = 16; lanes > 0; lanes /= 2) count += LaneXor(count, lanes);
  if (Lane() == 0 && count != 0) AtomicAdd(differ, static_cast<uint64_t>(count));
}

}  // namespace

gpuError_t PrepareAuditKernel() { return gpuPrepareKernel(AuditKernel, 0); }

gpuError_t LaunchAuditKernel(const std::byte* slot, const std::byte* expected, size_t bytes,
                             uint64_t* differ, gpuStream_t stream) {
  if (bytes == 0) return gpuSuccess;
  const uint64_t blocks = (bytes + kThreads - 1) / kThreads;
  return gpuLaunch(AuditKernel, static_cast<uint32_t>(blocks < kMostBlocks ? blocks : kMostBlocks),
                   kThreads, 0, stream, false, reinterpret_cast<const uint8_t*>(slot),
                   reinterpret_cast<const uint8_t*>(expected), static_cast<uint64_t>(bytes),
                   differ);
}

}  // namespace berth::kernels::gpu
