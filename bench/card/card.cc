#include "bench/card/card.h"

#include <algorithm>
#include <cstring>

#include "kernels/gpu/expert_launch.h"
#include "kernels/gpu/gpu_status.h"
#include "kernels/gpu/vendor_timing.h"

namespace berth::bench {

using kernels::gpu::GpuStatus;

namespace {

// Two transfers a clock, as every memory of cards makes them.
double PeakBytesPerSecond([[maybe_unused]] int ordinal) {
#if BERTH_GPU_TIMING
  int khz = 0, bits = 0;
  if (gpuDeviceGetAttribute(&khz, gpuDevAttrMemoryClockRate, ordinal) == gpuSuccess &&
      gpuDeviceGetAttribute(&bits, gpuDevAttrMemoryBusWidth, ordinal) == gpuSuccess) {
    return 2.0 * 1e3 * khz * bits / 8;
  }
  (void)gpuGetLastError();
#endif
  return 0;
}

}  // namespace

Result<CardInfo> OpenCard(int ordinal) {
  int count = 0;
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuGetDeviceCount(&count), "no card", "GetDeviceCount"));
  if (ordinal >= count) {
    return NotFoundError("no card " + std::to_string(ordinal) + ": there are " +
                         std::to_string(count));
  }
  CardInfo card;
  card.ordinal = ordinal;
  BERTH_RETURN_IF_ERROR(UseCard(card));
  gpuDeviceProp_t properties;
  BERTH_RETURN_IF_ERROR(
      GpuStatus(gpuGetDeviceProperties(&properties, ordinal), "card", "GetDeviceProperties"));
  card.name = properties.name;
  card.processors = static_cast<uint32_t>(properties.multiProcessorCount);
  card.peak_bytes_per_s = PeakBytesPerSecond(ordinal);
  BERTH_RETURN_IF_ERROR(kernels::gpu::LoadExpertKernels());
  return card;
}

Status UseCard(const CardInfo& card) {
  return GpuStatus(gpuSetDevice(card.ordinal), "card " + std::to_string(card.ordinal), "SetDevice");
}

Result<CardMemory> CardMemory::Allocate(size_t bytes, std::string_view purpose) {
  CardMemory memory;
  void* data = nullptr;
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuMalloc(&data, std::max<size_t>(bytes, 1)), purpose, "Malloc"));
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  return memory;
}

Result<CardMemory> CardMemory::AllocateMapped(size_t bytes, std::string_view purpose) {
  CardMemory memory;
  void* host = nullptr;
  BERTH_RETURN_IF_ERROR(GpuStatus(
      gpuHostAlloc(&host, std::max<size_t>(bytes, 1), gpuHostAllocPortable | gpuHostAllocMapped),
      purpose, "HostAlloc"));
  memory.host_ = static_cast<std::byte*>(host);
  memory.bytes_ = bytes;
  void* data = nullptr;
  BERTH_RETURN_IF_ERROR(
      GpuStatus(gpuHostGetDevicePointer(&data, host, 0), purpose, "HostGetDevicePointer"));
  memory.data_ = static_cast<std::byte*>(data);
  return memory;
}

CardMemory::~CardMemory() {
  if (host_ != nullptr) {
    (void)gpuFreeHost(host_);
  } else if (data_ != nullptr) {
    (void)gpuFree(data_);
  }
}

Result<CardStream> CardStream::Create() {
  CardStream stream;
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuStreamCreateWithFlags(&stream.stream_, gpuStreamNonBlocking),
                                  "stream", "StreamCreateWithFlags"));
  return stream;
}

CardStream::~CardStream() {
  if (stream_ != gpuStream_t{}) (void)gpuStreamDestroy(stream_);
}

Status CardStream::Synchronize() const {
  return GpuStatus(gpuStreamSynchronize(stream_), "stream", "StreamSynchronize");
}

Status CardStream::ToCard(void* to, const void* from, size_t bytes) const {
  BERTH_RETURN_IF_ERROR(Synchronize());
  BERTH_RETURN_IF_ERROR(
      GpuStatus(gpuMemcpy(to, from, bytes, gpuMemcpyHostToDevice), "copy to card", "Memcpy"));
  // Of pageable memory the last part may still be on its way.
  return GpuStatus(gpuDeviceSynchronize(), "copy to card", "DeviceSynchronize");
}

Status CardStream::ToHost(void* to, const void* from, size_t bytes) const {
  BERTH_RETURN_IF_ERROR(Synchronize());
  return GpuStatus(gpuMemcpy(to, from, bytes, gpuMemcpyDeviceToHost), "copy to host", "Memcpy");
}

Status CardStream::Fill(void* to, uint8_t byte, size_t bytes) const {
  BERTH_RETURN_IF_ERROR(Synchronize());
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuMemset(to, byte, bytes), "fill", "Memset"));
  return GpuStatus(gpuDeviceSynchronize(), "fill", "DeviceSynchronize");
}

}  // namespace berth::bench
