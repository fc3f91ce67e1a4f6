// Device: one card, as everything above kernels/ sees it. No vendor's name stands here.
//
// A backend gives memory, streams (first in, first out, running beside each other), events between
// streams, copies, the pointer table and the grouped expert call. tests/kernels/
// device_conformance.h holds what every backend promises. Calls on a Device or a Stream may come
// from any thread; calls that enqueue do not block and do not call the sink.
#ifndef BERTH_KERNELS_DEVICE_H_
#define BERTH_KERNELS_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "berth/status.h"
#include "berth/types.h"
#include "kernels/expert/grouped_call.h"

namespace berth::kernels {

// Told that everything enqueued on a stream before a Notify is done. Called on a thread of the
// backend with none of its locks held, so it may enqueue. `status` is the first error of the work
// since the stream's previous Notify.
class StreamSink {
 public:
  virtual void StreamReached(uint64_t token, const Status& status) = 0;

 protected:
  ~StreamSink() = default;
};

struct CopySegment {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t bytes = 0;
};
enum class CopyDirection : uint8_t { kToCard, kToHost };
// A unit's tensors at most: gate, up, down.
inline constexpr size_t kMaxCopySegments = 4;

// The address of a unit in the pointer table; null unpublishes it.
struct TableEntry {
  UnitIndex unit = kNoUnit;
  const std::byte* address = nullptr;
};

// Card memory; freed by its destructor. Must not outlive its device.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() const = 0;  // 256-aligned; readable by the host only on `host`
  virtual size_t bytes() const = 0;
};

// A point in one stream that others can wait for.
class Event {
 public:
  virtual ~Event() = default;
};

class Stream {
 public:
  virtual ~Stream() = default;  // waits for what is enqueued

  // Each takes its arguments by value and fails only with ResourceExhausted (queue full: the
  // capacity that was promised at creation) or FailedPrecondition (a lost device).
  virtual Status Copy(CopyDirection direction, std::span<const CopySegment> segments) = 0;
  virtual Status UpdateTable(std::span<const TableEntry> entries) = 0;  // at most 4 entries
  virtual Status Run(const GroupedCall& call) = 0;
  virtual Status Reduce(const ReduceCall& call) = 0;
  virtual Status Record(Event* event) = 0;
  virtual Status Wait(Event* event) = 0;
  virtual Status Notify(uint64_t token) = 0;

  // Blocks until the stream is empty; first error since the last Notify or Synchronize.
  virtual Status Synchronize() = 0;
};

struct StreamOptions {
  std::string name;        // for messages and thread names
  uint32_t capacity = 256;  // most entries enqueued at once
  StreamSink* sink = nullptr;  // may be null where Notify is not used
  // Sizes of the largest grouped call; all 0 for a stream that only copies and updates tables.
  uint32_t max_hidden = 0;
  uint32_t max_ffn = 0;
  uint32_t max_pairs = 0;
};

struct DeviceInfo {
  std::string name;           // "host:0"
  std::string_view backend;   // "host"
  uint64_t memory_bytes = 0;  // the card's, or the budget imposed on it
  double link_bytes_per_s = 0;  // imposed; 0: whatever the machine does
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual uint64_t free_bytes() const = 0;
  // ResourceExhausted beyond the budget; the message says asked, free and what to lower.
  virtual Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes, std::string_view purpose) = 0;
  // Allocates the stream's workspace (host memory on `host`), see workspace_bytes().
  virtual Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) = 0;
  // Workspace of all streams made so far.
  virtual uint64_t workspace_bytes() const = 0;
  virtual Result<std::unique_ptr<Event>> CreateEvent() = 0;
  // Makes the pointer table for units [0, units), all unpublished. Once per device.
  virtual Status CreateTable(uint32_t units) = 0;
  // Host memory that copies will use; registered with the driver where there is one.
  virtual Status RegisterHost(std::byte* begin, size_t bytes) = 0;
  virtual Status UnregisterHost(std::byte* begin) = 0;
};

struct DeviceOptions {
  std::string name = "host:0";     // "<backend>:<ordinal>"
  uint64_t memory_bytes = 0;       // 0: the backend's own reading of the card
  double link_bytes_per_s = 0;     // host backend: imposed on copies, each direction; 0: none
  uint32_t threads = 0;            // host backend: compute threads; 0: all of the machine
};
// NotFound for a backend that is not built in; the message says how to build it.
Result<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_DEVICE_H_
