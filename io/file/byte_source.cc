#include "io/file/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/format.h"

namespace berth::io {
namespace {

Status Ended(const std::string& name, uint64_t size, uint64_t offset, uint64_t wanted) {
  return DataLossError(name + ": ends before byte " + std::to_string(offset + wanted) +
                       " (it has " + std::to_string(size) + "); the file is truncated");
}

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, uint64_t size, std::string name)
      : fd_(fd), size_(size), name_(std::move(name)) {}
  ~FileSource() override { ::close(fd_); }

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }

  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      return Ended(name_, size_, offset, out.size());
    }
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t got =
          ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got < 0) {
        if (errno == EINTR) continue;
        return ErrnoError(errno, name_ + ": reading at byte " + std::to_string(offset + done));
      }
      if (got == 0) return Ended(name_, offset + done, offset, out.size());
      done += static_cast<size_t>(got);
    }
    return Status();
  }

 private:
  const int fd_;
  const uint64_t size_;
  const std::string name_;
};

class SpanSource final : public ByteSource {
 public:
  SpanSource(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {}

  uint64_t size() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }

  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return Ended(name_, bytes_.size(), offset, out.size());
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return Status();
  }

 private:
  const std::span<const std::byte> bytes_;
  const std::string name_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes must be refused, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrnoError(errno, path);
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return ErrnoError(error, path);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return InvalidArgumentError(path + ": not a regular file; name a file");
  }
  return std::unique_ptr<ByteSource>(
      std::make_unique<FileSource>(fd, static_cast<uint64_t>(info.st_size), path));
}

std::unique_ptr<ByteSource> MemorySource(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<SpanSource>(bytes, std::move(name));
}

Result<std::string> ReadText(const ByteSource& source, uint64_t limit_bytes) {
  if (source.size() > limit_bytes) {
    return InvalidArgumentError(source.name() + ": " + FormatBytes(source.size()) +
                                ", but at most " + FormatBytes(limit_bytes) + " are read");
  }
  std::string text(source.size(), '\0');
  BERTH_RETURN_IF_ERROR(source.ReadAt(0, std::as_writable_bytes(std::span<char>(text))));
  return text;
}

}  // namespace berth::io
