#include "runtime/probe/probe_memory.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace berth::probe {

Result<RegisteredRegion> RegisteredRegion::Create(kernels::Device* device, uint64_t bytes,
                                                  std::string_view purpose) {
  RegisteredRegion made;
  arena::HostRegionOptions options;
  options.bytes = bytes;
  options.lock = false;  // a driver pins it where there is one
  options.purpose = std::string(purpose);
  BERTH_ASSIGN_OR_RETURN(made.region_, arena::HostRegion::Create(options));
  BERTH_RETURN_IF_ERROR(device->RegisterHost(made.region_.data(), made.region_.bytes()));
  made.device_ = device;
  return made;
}

RegisteredRegion& RegisteredRegion::operator=(RegisteredRegion&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(region_, other.region_);
  return *this;
}

RegisteredRegion::~RegisteredRegion() {
  if (device_ != nullptr) (void)device_->UnregisterHost(region_.data());
}

Result<std::unique_ptr<ProbeStream>> ProbeStream::Create(kernels::Device* device,
                                                         kernels::StreamOptions options) {
  std::unique_ptr<ProbeStream> made(new ProbeStream());
  options.name = device->info().name + " probe";
  options.capacity = 2 * kMostPieces + 8;
  options.sink = made.get();
  BERTH_ASSIGN_OR_RETURN(made->stream_, device->CreateStream(options));
  return made;
}

void ProbeStream::StreamReached(uint64_t, const Status& status) {
  MutexLock lock(&mutex_);
  if (error_.ok()) error_ = status;
}

Status ProbeStream::Synchronize() {
  const Status status = stream_->Synchronize();
  MutexLock lock(&mutex_);
  const Status noticed = std::exchange(error_, Status());
  return noticed.ok() ? status : noticed;
}

Status FillCard(ProbeStream* stream, const RegisteredRegion& buffer, std::byte* to, uint64_t bytes,
                const std::function<void(uint64_t, std::byte*, uint64_t)>& fill) {
  for (uint64_t offset = 0; offset < bytes; offset += buffer.bytes()) {
    const uint64_t piece = std::min(buffer.bytes(), bytes - offset);
    fill(offset, buffer.data(), piece);
    const kernels::CopySegment segment = {buffer.data(), to + offset, piece};
    BERTH_RETURN_IF_ERROR(stream->get()->Copy(kernels::CopyDirection::kToCard, {&segment, 1}));
    BERTH_RETURN_IF_ERROR(stream->Synchronize());
  }
  return Status();
}

Status ReadCard(ProbeStream* stream, const RegisteredRegion& buffer, const std::byte* from,
                uint64_t bytes, const std::function<void(const std::byte*, uint64_t)>& take) {
  for (uint64_t offset = 0; offset < bytes; offset += buffer.bytes()) {
    const uint64_t piece = std::min(buffer.bytes(), bytes - offset);
    const kernels::CopySegment segment = {from + offset, buffer.data(), piece};
    BERTH_RETURN_IF_ERROR(stream->get()->Copy(kernels::CopyDirection::kToHost, {&segment, 1}));
    BERTH_RETURN_IF_ERROR(stream->Synchronize());
    take(buffer.data(), piece);
  }
  return Status();
}

double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace berth::probe
