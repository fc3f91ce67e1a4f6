#include "bench/bench_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace berth::bench {
namespace {

Status WriteRandom(int fd, uint64_t bytes) {
  std::vector<uint64_t> block((8u << 20) / sizeof(uint64_t));
  uint64_t x = 0x9E3779B97F4A7C15ull;
  for (uint64_t at = 0; at < bytes;) {
    for (uint64_t& word : block) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      word = x;
    }
    const auto* const data = reinterpret_cast<const char*>(block.data());
    const uint64_t part = std::min<uint64_t>(block.size() * sizeof(uint64_t), bytes - at);
    const ssize_t written = ::write(fd, data, part);
    if (written < 0 && errno != EINTR) return ErrnoError(errno, "writing");
    if (written > 0) at += static_cast<uint64_t>(written);
  }
  if (::fsync(fd) != 0) return ErrnoError(errno, "fsync");
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return Status();
}

}  // namespace

Status MakeBenchFile(const std::string& path, uint64_t bytes) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && static_cast<uint64_t>(info.st_size) == bytes) {
    return Status();
  }
  const std::string partial = path + ".partial";
  const int fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoError(errno, partial);
  Status status = WriteRandom(fd, bytes).Annotate(partial);
  ::close(fd);
  if (status.ok() && ::rename(partial.c_str(), path.c_str()) != 0) {
    status = ErrnoError(errno, path);
  }
  if (!status.ok()) ::unlink(partial.c_str());
  return status;
}

}  // namespace berth::bench
