// Ring: the few things the io_uring engine wants of a ring, so that liburing stands in one file
// (uring_ring.cc) and tests can put a ring of their own in its place.
//
// All calls come from the thread that made the ring. Errors are negative errno values.
#ifndef BERTH_IO_STORAGE_RING_H_
#define BERTH_IO_STORAGE_RING_H_

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "berth/status.h"

namespace berth::io {

inline constexpr int kNoBuffer = -1;

struct RingRead {
  int file = 0;  // index into the registered files, or a file descriptor
  bool file_is_index = false;
  int buffer = kNoBuffer;  // index into the registered buffers, or kNoBuffer
  uint64_t offset = 0;
  uint32_t length = 0;
  std::byte* destination = nullptr;
  uint64_t user_data = 0;
};

struct RingCompletion {
  uint64_t user_data = 0;
  int32_t result = 0;  // bytes, or a negative errno value
};

class Ring {
 public:
  virtual ~Ring() = default;

  virtual int RegisterBuffers(std::span<const iovec> buffers) = 0;
  virtual int RegisterFiles(std::span<const int> fds) = 0;

  // Puts a read behind the ones prepared before. False when the submission queue is full.
  virtual bool Prepare(const RingRead& read) = 0;
  // Submits what is prepared and waits until a completion is there, or until `timeout` if given;
  // a timeout of zero only submits and lets the kernel deliver what is ready. 0, or an error;
  // after an error what was not taken stays prepared.
  virtual int Submit(std::optional<std::chrono::nanoseconds> timeout) = 0;
  // Lets the kernel deliver completions without submitting anything.
  virtual void Deliver() = 0;
  // How many of the prepared reads the kernel has not taken (the last ones).
  virtual uint32_t Unsubmitted() const = 0;
  // Takes completions that have arrived.
  virtual uint32_t Reap(std::span<RingCompletion> completions) = 0;
};

// A ring for `entries` reads at once, at the best setup flags that this kernel has. The error's
// message is the reason alone, e.g. "Operation not permitted (sysctl kernel.io_uring_disabled=2)".
Result<std::unique_ptr<Ring>> MakeRing(uint32_t entries);

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_RING_H_
