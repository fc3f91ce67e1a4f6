#include "io/storage/system.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace berth::io {

int StorageSystem::Open(const char* path, int flags) {
  const int fd = ::open(path, flags);
  return fd < 0 ? -errno : fd;
}

int64_t StorageSystem::Pread(int fd, std::byte* destination, size_t length, uint64_t offset) {
  const ssize_t bytes = ::pread(fd, destination, length, static_cast<off_t>(offset));
  return bytes < 0 ? -errno : bytes;
}

Result<std::unique_ptr<Ring>> StorageSystem::NewRing(uint32_t entries) {
#ifdef BERTH_HAVE_URING
  return MakeRing(entries);
#else
  (void)entries;
  return UnimplementedError("this build has no liburing 2.3 or newer");
#endif
}

uint64_t StorageSystem::MemlockLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 0;
  return limit.rlim_cur;
}

}  // namespace berth::io
