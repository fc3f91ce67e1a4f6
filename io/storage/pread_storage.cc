#include "io/storage/pread_storage.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/storage/read_progress.h"
#include "io/storage/read_queue.h"

namespace berth::io {
namespace {

class PreadStorage final : public Storage {
 public:
  PreadStorage(const StorageOptions& options, StorageInfo info, FileSet files,
               StorageSystem* system)
      : info_(std::move(info)),
        files_(std::move(files)),
        system_(system),
        queue_(options.max_outstanding, options.sink) {}
  ~PreadStorage() override { Close(); }

  // As many threads as the system gives, at most `wanted`; an error when it gives none.
  Status Start(uint32_t wanted) {
    for (uint32_t i = 0; i < wanted; ++i) {
      try {
        threads_.emplace_back([this] { Serve(); });
      } catch (const std::system_error& error) {
        if (!threads_.empty()) break;
        return ErrnoError(error.code().value(), "starting a thread that reads");
      }
    }
    return Status();
  }

  const StorageInfo& info() const override { return info_; }
  uint64_t file_bytes(uint32_t file) const override { return files_.bytes(file); }
  void Submit(std::span<const ReadRequest> reads) override { queue_.Push(reads); }
  StorageStats stats() const override { return queue_.stats(); }

  void Close() override {
    queue_.Close();
    MutexLock lock(&close_mutex_);
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
    // What the sink submitted while the last thread was leaving.
    ReadRequest read;
    while (!queue_.Finish()) {
      while (queue_.Take(&read)) queue_.Complete(ReadProgress(read).Abandon(ClosedError()));
    }
  }

 private:
  void Serve() {
    ReadRequest read;
    while (queue_.WaitTake(&read)) queue_.Complete(Read(read));
  }

  ReadResult Read(const ReadRequest& read) {
    ReadProgress progress(read);
    if (queue_.closing()) return progress.Abandon(ClosedError());
    if (Status status = ValidateRead(read, files_.size()); !status.ok()) {
      return progress.Abandon(std::move(status));
    }
    const int fd = files_.fd(read.file);
    for (;;) {
      const ReadProgress::Range range = progress.Next();
      const int64_t result = system_->Pread(fd, range.destination, range.length, range.offset);
      const ReadProgress::Action action = progress.Advance(result);
      if (action == ReadProgress::Action::kDone) break;
      if (action == ReadProgress::Action::kAgainAfterDelay) {
        queue_.SleepUnlessClosing(std::chrono::microseconds(progress.delay_us()));
        if (queue_.closing()) return progress.Abandon(ClosedError());
      }
    }
    if (info_.rung == Rung::kPreadBuffered) DropBehind(fd, read);
    return progress.Finish(files_.path(read.file));
  }

  // The page cache would keep a second copy of what the tiers above hold already.
  static void DropBehind(int fd, const ReadRequest& read) {
    ::posix_fadvise(fd, static_cast<off_t>(read.offset), read.length, POSIX_FADV_DONTNEED);
  }

  const StorageInfo info_;
  const FileSet files_;
  StorageSystem* const system_;
  ReadQueue queue_;
  Mutex close_mutex_;
  std::vector<std::thread> threads_;  // by Start, then only under close_mutex_
};

}  // namespace

Result<std::unique_ptr<Storage>> NewPreadStorage(const StorageOptions& options, StorageInfo info,
                                                 FileSet files, StorageSystem* system) {
  auto storage = std::make_unique<PreadStorage>(options, std::move(info), std::move(files), system);
  BERTH_RETURN_IF_ERROR(storage->Start(std::min(options.queue_depth, kPreadThreadsMax)));
  return std::unique_ptr<Storage>(std::move(storage));
}

}  // namespace berth::io
