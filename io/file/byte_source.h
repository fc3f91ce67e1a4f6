// ByteSource: where a parser gets its bytes from. A file (pread), or memory for tests and fuzzing.
#ifndef BERTH_IO_FILE_BYTE_SOURCE_H_
#define BERTH_IO_FILE_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "berth/status.h"

namespace berth::io {

// Read from one thread at a time, except FileSource, which any number of threads may read.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // For messages: the path.
  virtual const std::string& name() const = 0;
  virtual uint64_t bytes() const = 0;
  // Reads at most to.size() bytes from `offset` on; fewer only where the source ends, 0 at its end.
  // An I/O error is Unavailable and names file and offset.
  virtual Result<size_t> ReadSome(uint64_t offset, std::span<std::byte> to) const = 0;
  // Fills `to` from `offset` on; DataLoss where the source ends before.
  Status ReadAt(uint64_t offset, std::span<std::byte> to) const;
};

// A regular file, open for reading. Buffered reads; the size is the one at open.
class FileSource final : public ByteSource {
 public:
  // NotFound, PermissionDenied, or InvalidArgument for what is no regular file.
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& name() const override { return path_; }
  uint64_t bytes() const override { return bytes_; }
  Result<size_t> ReadSome(uint64_t offset, std::span<std::byte> to) const override;
  int fd() const { return fd_; }

 private:
  FileSource(std::string path, int fd, uint64_t bytes)
      : path_(std::move(path)), fd_(fd), bytes_(bytes) {}
  std::string path_;
  int fd_;
  uint64_t bytes_;
};

// The first bytes of a file of `claimed_bytes`, which may be more than there are: what lies beyond
// them reads as truncated. The span must outlive the source.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> data, uint64_t claimed_bytes)
      : name_(std::move(name)), data_(data), bytes_(claimed_bytes) {}
  MemorySource(std::string name, std::span<const std::byte> data)
      : MemorySource(std::move(name), data, data.size()) {}

  const std::string& name() const override { return name_; }
  uint64_t bytes() const override { return bytes_; }
  Result<size_t> ReadSome(uint64_t offset, std::span<std::byte> to) const override;

 private:
  std::string name_;
  std::span<const std::byte> data_;
  uint64_t bytes_;
};

}  // namespace berth::io

#endif  // BERTH_IO_FILE_BYTE_SOURCE_H_
