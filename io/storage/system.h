// StorageSystem: the calls by which storage reaches the operating system. Tests replace single
// ones to play a kernel that refuses.
#ifndef BERTH_IO_STORAGE_SYSTEM_H_
#define BERTH_IO_STORAGE_SYSTEM_H_

#include <cstdint>
#include <memory>

#include "berth/status.h"
#include "io/storage.h"
#include "io/storage/ring.h"

namespace berth::io {

class StorageSystem {
 public:
  virtual ~StorageSystem() = default;

  // A file descriptor, or a negative errno value. `flags` as for open(2).
  virtual int Open(const char* path, int flags);
  // Bytes, or a negative errno value.
  virtual int64_t Pread(int fd, std::byte* destination, size_t length, uint64_t offset);
  virtual Result<std::unique_ptr<Ring>> NewRing(uint32_t entries);
  // RLIMIT_MEMLOCK in bytes, for messages.
  virtual uint64_t MemlockLimit();
};

// OpenStorage on another system; `system` must outlive the storage.
Result<std::unique_ptr<Storage>> OpenStorageOn(const StorageOptions& options,
                                               StorageSystem* system);

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_SYSTEM_H_
