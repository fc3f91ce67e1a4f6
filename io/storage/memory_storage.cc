#include "io/storage/memory_storage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/storage/read_progress.h"

namespace berth::io {

MemoryStorage::MemoryStorage(MemoryStorageOptions options)
    : info_{Rung::kMemory, ""},
      files_(std::move(options.files)),
      queue_(options.max_outstanding, options.sink) {
  for (const auto& file : files_) opened_bytes_.push_back(file.size());
  thread_ = std::thread([this] { Serve(); });
}

MemoryStorage::~MemoryStorage() { Close(); }

void MemoryStorage::Submit(std::span<const ReadRequest> reads) { queue_.Push(reads); }

void MemoryStorage::Close() {
  queue_.Close();
  MutexLock lock(&close_mutex_);
  if (thread_.joinable()) thread_.join();
  ReadRequest read;
  while (!queue_.Finish()) {
    while (queue_.Take(&read)) queue_.Complete(ReadProgress(read).Abandon(ClosedError()));
  }
}

void MemoryStorage::Truncate(uint32_t file, uint64_t bytes) {
  MutexLock lock(&files_mutex_);
  files_[file].resize(bytes);
}

void MemoryStorage::Serve() {
  ReadRequest read;
  while (queue_.WaitTake(&read)) queue_.Complete(Read(read));
}

ReadResult MemoryStorage::Read(const ReadRequest& read) {
  ReadProgress progress(read);
  if (queue_.closing()) return progress.Abandon(ClosedError());
  if (Status status = ValidateRead(read, opened_bytes_.size()); !status.ok()) {
    return progress.Abandon(std::move(status));
  }
  ReadProgress::Action action = ReadProgress::Action::kAgain;
  while (action != ReadProgress::Action::kDone) {
    const ReadProgress::Range range = progress.Next();
    action = progress.Advance(Copy(read.file, range.offset, range.length, range.destination));
  }
  return progress.Finish(absl::StrCat("memory file ", read.file));
}

int64_t MemoryStorage::Copy(uint32_t file, uint64_t offset, uint32_t length,
                            std::byte* destination) {
  MutexLock lock(&files_mutex_);
  const std::vector<std::byte>& bytes = files_[file];
  if (offset >= bytes.size()) return 0;
  const uint64_t count = std::min<uint64_t>(length, bytes.size() - offset);
  std::memcpy(destination, bytes.data() + offset, count);
  return static_cast<int64_t>(count);
}

}  // namespace berth::io
