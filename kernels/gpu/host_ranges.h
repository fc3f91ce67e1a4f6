// Host memory that cards reach: registered with the driver once per process, and known to each card
// under the card's own addresses.
#ifndef BERTH_KERNELS_GPU_HOST_RANGES_H_
#define BERTH_KERNELS_GPU_HOST_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"
#include "kernels/gpu/vendor.h"
#include "runtime/base/mutex.h"

namespace berth::kernels::gpu {

// Drivers register at most this much at a time; a copy does not go beyond the end of a piece.
inline constexpr size_t kRegisterBytes = size_t{1} << 30;

// Registrations of this process, counted: several cards register the same memory, and only the
// first of them goes to the driver ("portable" makes it known to all cards). Thread-safe.
class HostRegistry {
 public:
  static HostRegistry& Get();

  // A card is current. What was registered is as it was where this fails.
  Status Register(std::byte* begin, size_t bytes) BERTH_EXCLUDES(mutex_);
  Status Unregister(std::byte* begin) BERTH_EXCLUDES(mutex_);

 private:
  struct Range {
    std::byte* begin;
    size_t bytes;
    uint32_t users;
  };
  Status RegisterPieces(std::byte* begin, size_t bytes);

  Mutex mutex_;
  std::vector<Range> ranges_ BERTH_GUARDED_BY(mutex_);
};

// The registered memory that one card knows. Thread-safe.
class HostRanges {
 public:
  HostRanges(std::string card, int ordinal) : card_(std::move(card)), ordinal_(ordinal) {}
  ~HostRanges();

  Status Register(std::byte* begin, size_t bytes) BERTH_EXCLUDES(mutex_);
  Status Unregister(std::byte* begin) BERTH_EXCLUDES(mutex_);

  // The card's address of [begin, begin + bytes), or null where that is not registered.
  const std::byte* OnCard(const void* begin, size_t bytes) const BERTH_EXCLUDES(mutex_);
  // Of a copy that begins here: bytes up to the end of the piece that was registered.
  size_t PieceLeft(const std::byte* begin) const BERTH_EXCLUDES(mutex_);

 private:
  struct Range {
    std::byte* begin;
    size_t bytes;
    ptrdiff_t to_card;  // the card's address less the host's
  };
  const Range* Find(const void* begin, size_t bytes) const BERTH_REQUIRES(mutex_);
  Status Map(Range* range) const;

  const std::string card_;
  const int ordinal_;
  mutable Mutex mutex_;
  std::vector<Range> ranges_ BERTH_GUARDED_BY(mutex_);  // by address
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_HOST_RANGES_H_
