#include "io/file/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace berth::io {
namespace {

constexpr size_t kBufferBytes = 1u << 20;

// The name is durable only once its directory is; errors are ignored because some file systems
// refuse to sync directories, and the data itself is synced by then.
void SyncDirectory(const std::filesystem::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)::fsync(fd);
  ::close(fd);
}

std::filesystem::path DirectoryOf(const std::string& path) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  return directory.empty() ? std::filesystem::path(".") : directory;
}

}  // namespace

Result<std::unique_ptr<AtomicFile>> AtomicFile::Create(const std::string& path) {
  const std::string file_name = std::filesystem::path(path).filename().string();
  if (file_name.empty()) return InvalidArgumentError("'" + path + "' is not a file name");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return InvalidArgumentError(path + ": is a directory; name a file");
  }
  // Not mkstemp: its files are readable by their owner alone, and a result is an ordinary file.
  static std::atomic<uint32_t> serial{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string temporary =
        (DirectoryOf(path) / ("." + file_name + "." + std::to_string(::getpid()) + "-" +
                              std::to_string(serial.fetch_add(1)) + ".tmp"))
            .string();
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return std::unique_ptr<AtomicFile>(new AtomicFile(fd, path, temporary));
    if (errno != EEXIST) return ErrnoError(errno, "cannot create " + path);
  }
  return ErrnoError(EEXIST, "cannot create " + path);
}

AtomicFile::AtomicFile(int fd, std::string path, std::string temporary)
    : fd_(fd), path_(std::move(path)), temporary_(std::move(temporary)) {
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!committed_) ::unlink(temporary_.c_str());
}

Status AtomicFile::Flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (put < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "writing " + path_);
    }
    done += static_cast<size_t>(put);
  }
  buffer_.clear();
  return Status();
}

Status AtomicFile::Append(std::span<const std::byte> bytes) {
  bytes_appended_ += bytes.size();
  while (!bytes.empty()) {
    const size_t take = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(take));
    bytes = bytes.subspan(take);
    if (buffer_.size() == kBufferBytes) BERTH_RETURN_IF_ERROR(Flush());
  }
  return Status();
}

Status AtomicFile::Commit() {
  BERTH_RETURN_IF_ERROR(Flush());
  if (::fsync(fd_) != 0) return ErrnoError(errno, "syncing " + path_);
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) return ErrnoError(errno, "closing " + path_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoError(errno, "renaming to " + path_);
  }
  committed_ = true;
  SyncDirectory(DirectoryOf(path_));
  return Status();
}

}  // namespace berth::io
