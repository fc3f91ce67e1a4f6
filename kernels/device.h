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
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "kernels/exact/isa.h"
#include "kernels/expert/arithmetic.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/kernel_choice.h"

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

// Entries that one UpdateTable carries at most.
inline constexpr size_t kMaxTableEntries = 4;

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

// A point in one stream that others can wait for. Wait waits for the most recent Record that was
// enqueued before the Wait was; an event that was never recorded holds nobody up. Because a Wait
// looks back only, no two streams can wait for each other. An event says that work is over, not
// that it went well: errors are the stream's own. Must not outlive its device; may be destroyed
// while Records and Waits of it are still enqueued.
class Event {
 public:
  virtual ~Event() = default;
};

//
// An entry counts against the capacity until it has been done, or handed to a driver that has a
// queue of its own; a Notify only until its sink is called, so a sink may always enqueue in its
// place.
//
// Memory: what a copy names on the host's side, and what calls point to that is not the card's own
// memory, lies in host memory that was registered (RegisterHost), and `units` and `pairs` of a
// grouped call always do. Backends that reach any host memory do not look (DeviceInfo).
//
// Errors of the work itself (a unit that is not in the pointer table, a unit out of range) do not
// come from the call that enqueued it. The first one stays with the stream; until the next Notify
// or Synchronize has reported it, copies, table updates, runs and reductions are skipped, because
// they may need what failed. Records, waits and notifies still happen, so nobody hangs.
class Stream {
 public:
  // Waits for what is enqueued, notifies included. Not to be called from a sink of its card.
  virtual ~Stream() = default;

  // Each takes its arguments by value, never blocks, and fails only with ResourceExhausted (queue
  // full: the capacity that was promised at creation), FailedPrecondition (a lost device, whose
  // driver has refused work before; a stream without a sink or without a workspace where the call
  // needs one; a layer that was not prepared) or InvalidArgument (beyond the sizes the stream was
  // made for; a copy whose card side is not memory of this card; memory that the card does not
  // reach). A call that failed has enqueued nothing.
  virtual Status Copy(CopyDirection direction, std::span<const CopySegment> segments) = 0;
  virtual Status UpdateTable(std::span<const TableEntry> entries) = 0;
  virtual Status Run(const GroupedCall& call) = 0;
  virtual Status Reduce(const ReduceCall& call) = 0;
  virtual Status Record(Event* event) = 0;
  virtual Status Wait(Event* event) = 0;
  virtual Status Notify(uint64_t token) = 0;

  // Blocks until all that was enqueued before is done and the sinks of its notifies have returned;
  // first error since the last Notify or Synchronize. From the stream's own sink, and from any sink
  // of a card whose streams share the thread that calls them: FailedPrecondition.
  virtual Status Synchronize() = 0;
};

struct StreamOptions {
  std::string name;            // for messages and thread names
  uint32_t capacity = 256;     // most entries enqueued at once
  StreamSink* sink = nullptr;  // may be null where Notify is not used
  // Sizes of the largest grouped call; all 0 for a stream that only copies, updates tables and
  // reduces. No unit of a call has pairs beyond pairs[max_pairs), and no call more units than that.
  uint32_t max_hidden = 0;
  uint32_t max_ffn = 0;
  uint32_t max_pairs = 0;
  // Rows of x and units of one call at most; 0: as many as pairs.
  uint32_t max_rows = 0;
  uint32_t max_units = 0;
  // Copies of this stream are not a transfer between host and card but memory that the card sets
  // up by itself: a link rate that is imposed does not hold for them.
  bool unpaced = false;
};

// Host memory that copies and calls of a card may name.
enum class HostMemory : uint8_t { kAny, kRegistered };

struct DeviceInfo {
  std::string name;          // "host:0"
  std::string_view backend;  // "host"
  std::string model;         // what the maker calls the card; empty on `host`
  // What the driver says of the card that its speed hangs on, for people and for comparing: figures
  // measured on a card of other properties are not this one's. Empty on `host`.
  std::string properties;
  uint64_t memory_bytes = 0;    // the card's, or the budget imposed on it
  double link_bytes_per_s = 0;  // imposed; 0: whatever the machine does
  // Host threads that compute; may be fewer than were asked for, 0 where the card itself computes.
  uint32_t threads = 0;
  HostMemory host_memory = HostMemory::kAny;
  std::string note;  // for people: memory that others hold
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual uint64_t free_bytes() const = 0;
  // By how much less memory is free, now that some has been written, than a card whose size nobody
  // asked for keeps in reserve. 0 where all is well, and for a size that was asked for.
  virtual uint64_t ReserveShortfall() { return 0; }
  // ResourceExhausted beyond the budget; the message says asked, free and what to lower.
  virtual Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes,
                                                         std::string_view purpose) = 0;
  // Allocates the stream's workspace (host memory on `host`, on a card what card_bytes.h says), see
  // workspace_bytes().
  virtual Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) = 0;
  // Workspace of the streams that exist now, queues included.
  virtual uint64_t workspace_bytes() const = 0;
  virtual Result<std::unique_ptr<Event>> CreateEvent() = 0;
  // Makes the pointer table for units [0, units), all unpublished. Once per device.
  virtual Status CreateTable(uint32_t units) = 0;
  // Brings what is small and the same for all units of a layer to the card, which would otherwise
  // have to happen in its first call. A layer that has biases or scales is prepared before it runs;
  // `spec` stays where it is.
  virtual Status PrepareLayer(const ExpertSpec&) { return Status(); }
  // Kernels that calls of so many rows of a layer may ask for, all of equal bits. The first is what
  // a call gets that asks for none. Empty: there is no choice.
  virtual std::vector<KernelChoice> Kernels(const ExpertSpec&, uint32_t /*rows*/,
                                            uint32_t /*top_k*/) const {
    return {};
  }
  // What ran since the device was opened; zeros where there is no choice.
  virtual KernelLaunches kernel_launches() const { return {}; }
  // Host memory that copies and calls will use; registered with the driver where there is one. No
  // two of them share a page. Several cards may register the same memory. Unregistered in reverse,
  // when no work that names it is on its way.
  virtual Status RegisterHost(std::byte* begin, size_t bytes) = 0;
  virtual Status UnregisterHost(std::byte* begin) = 0;
  // The card's address of registered memory, to be read in place; null where it is not registered.
  virtual const std::byte* CardAddress(const std::byte* host, size_t) const { return host; }
};

// How bytes cross to a card and back.
enum class CopyPath : uint8_t {
  kEngine,  // the driver's copies
  kKernel,  // a kernel that reads and writes mapped host memory
};

struct DeviceOptions {
  std::string name = "host:0";  // "<backend>:<ordinal>"
  // 0: what the driver says is free, less a reserve; `host`: half of the memory that is available
  // on the machine right now. Obeyed, or refused where less is free; never made smaller.
  uint64_t memory_bytes = 0;
  double link_bytes_per_s = 0;  // host backend: imposed on copies, each direction; 0: none
  uint32_t threads = 0;         // host backend: compute threads; 0: all of the machine. Cards
                                // with equal numbers and processors share one pool
  // Host backend: where its threads stay, see worker_pool.h; empty: wherever the system puts them.
  std::vector<uint32_t> processors;
  Arithmetic arithmetic;
  Isa isa = BestIsa();  // host backend: of the compute threads; one of UsableIsas()
  CopyPath copy_path = CopyPath::kEngine;  // not on `host`
  // Fresh card memory holds 0xFF bytes (a NaN in every float type), so that reading what nobody
  // wrote shows. Always so in debug and AddressSanitizer builds; `host` only.
  bool poison = false;
};
// "host" is "host:0". NotFound for a card that there is not, and for a backend that is not built in
// (the message says how to build it), InvalidArgument for a name that is none.
Result<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_DEVICE_H_
