// MemoryStorage: files that are byte vectors, for tests. The same promises as the real ones, with a
// thread of its own that calls the sink.
#ifndef BERTH_IO_STORAGE_MEMORY_STORAGE_H_
#define BERTH_IO_STORAGE_MEMORY_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "io/storage.h"
#include "io/storage/read_queue.h"
#include "runtime/base/mutex.h"

namespace berth::io {

struct MemoryStorageOptions {
  std::vector<std::vector<std::byte>> files;
  uint32_t max_outstanding = 1024;
  ReadSink* sink = nullptr;  // must outlive the storage
};

class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(MemoryStorageOptions options);
  ~MemoryStorage() override;

  const StorageInfo& info() const override { return info_; }
  uint64_t file_bytes(uint32_t file) const override { return opened_bytes_[file]; }
  void Submit(std::span<const ReadRequest> reads) override;
  void Close() override;
  StorageStats stats() const override { return queue_.stats(); }

  // Cuts a file short, as something outside may do while it is read.
  void Truncate(uint32_t file, uint64_t bytes);

 private:
  void Serve();
  ReadResult Read(const ReadRequest& read);
  int64_t Copy(uint32_t file, uint64_t offset, uint32_t length, std::byte* destination);

  const StorageInfo info_;
  std::vector<uint64_t> opened_bytes_;
  Mutex files_mutex_;
  std::vector<std::vector<std::byte>> files_ BERTH_GUARDED_BY(files_mutex_);
  ReadQueue queue_;
  Mutex close_mutex_;
  std::thread thread_;
};

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_MEMORY_STORAGE_H_
