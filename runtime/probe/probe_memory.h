// Memory of a card for measuring, filled and read back through a small registered buffer.
#ifndef BERTH_RUNTIME_PROBE_PROBE_MEMORY_H_
#define BERTH_RUNTIME_PROBE_PROBE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "arena/host_region.h"
#include "berth/status.h"
#include "kernels/device.h"
#include "runtime/base/mutex.h"

namespace berth::probe {

// Host memory that is registered with a card for as long as this lives. Move-only.
class RegisteredRegion {
 public:
  RegisteredRegion() = default;
  static Result<RegisteredRegion> Create(kernels::Device* device, uint64_t bytes,
                                         std::string_view purpose);
  RegisteredRegion(RegisteredRegion&& other) noexcept { *this = std::move(other); }
  RegisteredRegion& operator=(RegisteredRegion&& other) noexcept;
  ~RegisteredRegion();

  std::byte* data() const { return region_.data(); }
  uint64_t bytes() const { return region_.bytes(); }

 private:
  kernels::Device* device_ = nullptr;  // null: not registered
  arena::HostRegion region_;
};

// A stream whose work is notified piece by piece; keeps the first error.
class ProbeStream final : private kernels::StreamSink {
 public:
  // Pieces of work between two Synchronize, at most.
  static constexpr uint32_t kMostPieces = 128;

  // `options`: the sizes of calls; the rest is set here.
  static Result<std::unique_ptr<ProbeStream>> Create(kernels::Device* device,
                                                     kernels::StreamOptions options);

  kernels::Stream* get() const { return stream_.get(); }
  // After each piece of work.
  Status EndPiece() { return stream_->Notify(0); }
  // Waits for all pieces; the first error of any.
  Status Synchronize();

 private:
  ProbeStream() = default;
  void StreamReached(uint64_t token, const Status& status) override;

  Mutex mutex_;
  Status error_ BERTH_GUARDED_BY(mutex_);
  std::unique_ptr<kernels::Stream> stream_;  // last: its notices use the rest
};

// Copies through `buffer`, piece by piece; over when it returns.
// `fill` makes the bytes [offset, offset + bytes) at `to`.
Status FillCard(ProbeStream* stream, const RegisteredRegion& buffer, std::byte* to, uint64_t bytes,
                const std::function<void(uint64_t offset, std::byte* to, uint64_t bytes)>& fill);
Status ReadCard(ProbeStream* stream, const RegisteredRegion& buffer, const std::byte* from,
                uint64_t bytes,
                const std::function<void(const std::byte* read, uint64_t bytes)>& take);

double SecondsNow();  // of a clock that only goes on

}  // namespace berth::probe

#endif  // BERTH_RUNTIME_PROBE_PROBE_MEMORY_H_
