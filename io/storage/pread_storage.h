// The storage on threads that call pread: the fallback where io_uring is not allowed. The same
// bandwidth from huge-page buffers, at two to five times the CPU.
#ifndef BERTH_IO_STORAGE_PREAD_STORAGE_H_
#define BERTH_IO_STORAGE_PREAD_STORAGE_H_

#include <memory>

#include "berth/status.h"
#include "io/storage.h"
#include "io/storage/file_set.h"
#include "io/storage/system.h"

namespace berth::io {

// At most this many threads, whatever the queue depth.
inline constexpr uint32_t kPreadThreadsMax = 16;

// `info.rung` says whether `files` are open with O_DIRECT or through the page cache. The caller has
// proved with a real read that this works.
Result<std::unique_ptr<Storage>> NewPreadStorage(const StorageOptions& options, StorageInfo info,
                                                 FileSet files, StorageSystem* system);

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_PREAD_STORAGE_H_
