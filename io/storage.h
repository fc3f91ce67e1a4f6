// Storage: asynchronous reads of file ranges into page-aligned host memory.
//
// One interface, several ways down (docs/architecture.md, "Reads"): io_uring with registered
// buffers, io_uring, a pool of threads with pread and O_DIRECT, the same buffered; and for tests
// memory and a seeded fault layer over any of them. tests/io/storage_conformance.h holds what all
// of them promise.
//
// Life of a read:
//   Submit(read) -> queued -> in flight -> Completed(token, result) exactly once
//   The destination belongs to the storage from Submit until Completed returns control of it; it
//   must stay mapped until then, and Close() is the only way to end that early (it waits).
#ifndef BERTH_IO_STORAGE_H_
#define BERTH_IO_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"

namespace berth::io {

struct ReadRequest {
  uint32_t file = 0;    // index in the list the storage was opened with
  uint64_t offset = 0;  // multiple of 4096
  uint32_t length = 0;  // multiple of 4096, at most 1 GiB: the span to read
  uint32_t need = 0;    // bytes that must arrive; fewer than `length` where the file ends
  std::byte* destination = nullptr;  // 4096-aligned, `length` bytes
  uint64_t token = 0;                // the caller's; comes back with the completion
};

struct ReadResult {
  uint64_t token = 0;
  uint32_t bytes = 0;          // arrived; at least `need` when status is ok
  uint32_t retries = 0;        // resubmissions this read took (short reads, EAGAIN, EINTR, one EIO)
  uint64_t retried_bytes = 0;  // bytes that were asked for again
  // Not ok: DataLoss for an end of file before `need`, Unavailable for an I/O error, Cancelled
  // after Close. The message names file and offset.
  Status status;
};

// Called on a thread of the storage, never from inside Submit and never with a lock of the
// storage held, so it may call Submit. The pread rungs have several threads and call at the same
// time. Must not block for long: reads wait behind it.
class ReadSink {
 public:
  virtual void ReadCompleted(const ReadResult& result) = 0;

 protected:
  ~ReadSink() = default;
};

// Memory that reads will go to, for registration with the kernel; 4096-aligned. Must outlive the
// storage. OpenStorage reads into its first page, to prove that reads into it work.
struct BufferRegion {
  std::byte* begin = nullptr;
  size_t bytes = 0;
};

// How reads are done, best first.
enum class Rung : uint8_t {
  kUringRegistered,  // io_uring, O_DIRECT, registered buffers
  kUring,            // io_uring, O_DIRECT
  kPreadDirect,      // thread pool, pread, O_DIRECT
  kPreadBuffered,    // thread pool, pread, page cache dropped behind (POSIX_FADV_DONTNEED)
  kMemory,           // tests
};
std::string_view RungName(Rung rung);  // "io_uring+registered", "io_uring", "pread", ...

struct StorageInfo {
  Rung rung = Rung::kMemory;
  std::string reason;  // why not a better one; empty on the best
};

struct StorageStats {
  uint64_t reads = 0;  // completed, with or without an error
  uint64_t bytes = 0;  // arrived
  uint64_t retries = 0;
  uint64_t retried_bytes = 0;
  uint64_t failed = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;  // closes

  virtual const StorageInfo& info() const = 0;
  // Size of file `file` in bytes when it was opened.
  virtual uint64_t file_bytes(uint32_t file) const = 0;
  // Queues reads; never blocks and never calls the sink. The caller keeps at most
  // StorageOptions::max_outstanding reads between Submit and completion; one more is a broken
  // invariant. A request that is misaligned or names no file completes with InvalidArgument. Reads
  // that come after Close() has returned are not taken and do not complete.
  virtual void Submit(std::span<const ReadRequest> reads) = 0;
  // Stops taking reads, completes all outstanding ones (Cancelled where they had not begun) and
  // returns when no byte will be written any more and the sink will not be called again.
  // Idempotent. Not to be called from the sink.
  virtual void Close() = 0;
  virtual StorageStats stats() const = 0;
};

struct StorageOptions {
  std::vector<std::string> paths;
  std::vector<BufferRegion> buffers;  // where destinations will lie; registered where possible
  uint32_t max_outstanding = 1024;    // promise of the caller, sizes every queue
  uint32_t queue_depth = 64;          // submitted to the kernel at once (threads: at most 16)
  // "auto" walks down the ladder; "uring", "pread" or "buffered" start at that rung. One rung
  // serves all files: the file that allows least decides, and the reason names it.
  std::string engine = "auto";
  // Refuse instead of stepping down from the rung that `engine` names: "auto" means the best,
  // "uring" io_uring with or without registered buffers.
  bool strict = false;
  ReadSink* sink = nullptr;
};

// Opens all files (regular ones; read permission is enough) and walks down the ladder, proving each
// rung with a real read.
Result<std::unique_ptr<Storage>> OpenStorage(const StorageOptions& options);

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_H_
