#include "io/file/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace berth::io {
namespace {

// One pread transfers at most 2 GiB - 4 KiB on Linux; asking for less keeps every count small.
constexpr size_t kReadAtMost = size_t{1} << 30;

}  // namespace

Status ByteSource::ReadAt(uint64_t offset, std::span<std::byte> to) const {
  BERTH_ASSIGN_OR_RETURN(const size_t got, ReadSome(offset, to));
  if (got == to.size()) return Status();
  return DataLossError(name() + ": truncated: it ends at byte " + std::to_string(offset + got) +
                       ", " + std::to_string(to.size()) + " bytes were expected at " +
                       std::to_string(offset));
}

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path) {
  if (path.empty()) return InvalidArgumentError("the name of a file is empty");
  // Non-blocking, so that a FIFO is refused below instead of waiting for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrnoError(errno, path);
  struct stat info;
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return ErrnoError(error, path);
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return InvalidArgumentError(path + ": is " +
                                (S_ISDIR(info.st_mode) ? "a directory" : "no regular file") +
                                ", expected a file");
  }
  return std::unique_ptr<FileSource>(new FileSource(path, fd, static_cast<uint64_t>(info.st_size)));
}

FileSource::~FileSource() { close(fd_); }

Result<size_t> FileSource::ReadSome(uint64_t offset, std::span<std::byte> to) const {
  size_t done = 0;
  while (done < to.size()) {
    const size_t want = std::min(to.size() - done, kReadAtMost);
    const ssize_t got = pread(fd_, to.data() + done, want, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      return ErrnoError(errno, path_ + ": reading at byte " + std::to_string(offset + done));
    }
  }
  return done;
}

Result<size_t> MemorySource::ReadSome(uint64_t offset, std::span<std::byte> to) const {
  if (offset >= data_.size()) return size_t{0};
  const size_t got = std::min<uint64_t>(to.size(), data_.size() - offset);
  if (got > 0) std::memcpy(to.data(), data_.data() + offset, got);
  return got;
}

}  // namespace berth::io
