// The storage on io_uring: one thread owns the ring, submits, reaps and calls the sink.
//
//   Submit: push to the queue, and write the eventfd if the owner sleeps
//   owner:  take reads in order up to the queue depth -> submit and wait -> reap -> sink
//
// The ring itself reads the eventfd, so the owner has one place to wait for disk and callers.
#ifndef BERTH_IO_STORAGE_URING_STORAGE_H_
#define BERTH_IO_STORAGE_URING_STORAGE_H_

#include <memory>

#include "berth/status.h"
#include "io/storage.h"
#include "io/storage/file_set.h"
#include "io/storage/system.h"

namespace berth::io {

// `info.rung` says whether `options.buffers` are registered. Proves the rung with a real read of
// every file into the first page of a buffer. On an error *files is as it was, for the next rung.
Result<std::unique_ptr<Storage>> NewUringStorage(const StorageOptions& options, StorageInfo info,
                                                 FileSet* files, StorageSystem* system);

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_URING_STORAGE_H_
