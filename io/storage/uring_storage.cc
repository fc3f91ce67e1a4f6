#include "io/storage/uring_storage.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "io/storage/read_queue.h"
#include "io/storage/ring_engine.h"

namespace berth::io {
namespace {

class UringStorage final : public Storage {
 public:
  UringStorage(const StorageOptions& options, StorageInfo info)
      : info_(std::move(info)), queue_(options.max_outstanding, options.sink) {}
  ~UringStorage() override {
    Close();
    if (wake_fd_ >= 0) ::close(wake_fd_);
  }

  // Starts the owner and waits until it has its ring and has proved it.
  Status Start(const StorageOptions& options, FileSet* files, StorageSystem* system) {
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
    if (wake_fd_ < 0) return ErrnoError(errno, "eventfd");
    files_ = files;
    const RingEngine::Setup setup = {
        .buffers = options.buffers,
        .queue_depth = options.queue_depth,
        .registered = info_.rung == Rung::kUringRegistered,
        .wake_fd = wake_fd_,
    };
    try {
      owner_ = std::thread([this, setup, system] { Own(setup, system); });
    } catch (const std::system_error& error) {
      return ErrnoError(error.code().value(), "starting the thread that reads");
    }
    Status opened = WaitUntilOpened();
    if (!opened.ok()) {
      owner_.join();
      return opened;
    }
    return opened;
  }

  const StorageInfo& info() const override { return info_; }
  uint64_t file_bytes(uint32_t file) const override { return own_files_.bytes(file); }
  StorageStats stats() const override { return queue_.stats(); }

  void Submit(std::span<const ReadRequest> reads) override {
    if (queue_.Push(reads)) Wake();
  }

  void Close() override {
    queue_.Close();
    MutexLock lock(&close_mutex_);
    if (!owner_.joinable()) return;
    Wake();
    owner_.join();
  }

 private:
  void Own(const RingEngine::Setup& setup, StorageSystem* system) {
    RingEngine engine(&queue_, setup);
    const Status opened = engine.Open(*files_, system);
    const bool ok = opened.ok();
    if (ok) {
      own_files_ = std::move(*files_);
      engine.SetFiles(&own_files_);
    }
    {
      MutexLock lock(&open_mutex_);
      opened_ = opened;
      open_done_ = true;
      open_changed_.SignalAll();
    }
    if (ok) engine.Run();
  }

  Status WaitUntilOpened() {
    MutexLock lock(&open_mutex_);
    while (!open_done_) open_changed_.Wait(&open_mutex_);
    return opened_;
  }

  void Wake() {
    const uint64_t one = 1;
    // The counter cannot overflow, so the only failure is an interruption.
    while (::write(wake_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }

  const StorageInfo info_;
  FileSet* files_ = nullptr;  // of the caller, until the rung is proved
  FileSet own_files_;
  int wake_fd_ = -1;
  ReadQueue queue_;
  Mutex open_mutex_;
  CondVar open_changed_;
  Status opened_ BERTH_GUARDED_BY(open_mutex_);
  bool open_done_ BERTH_GUARDED_BY(open_mutex_) = false;
  Mutex close_mutex_;
  std::thread owner_;
};

}  // namespace

Result<std::unique_ptr<Storage>> NewUringStorage(const StorageOptions& options, StorageInfo info,
                                                 FileSet* files, StorageSystem* system) {
  auto storage = std::make_unique<UringStorage>(options, std::move(info));
  BERTH_RETURN_IF_ERROR(storage->Start(options, files, system));
  return std::unique_ptr<Storage>(std::move(storage));
}

}  // namespace berth::io
