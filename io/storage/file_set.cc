#include "io/storage/file_set.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::io {
namespace {

Status CheckMode(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode)) return Status();
  const char* kind = S_ISDIR(info.st_mode)    ? "a directory"
                     : S_ISFIFO(info.st_mode) ? "a fifo"
                     : S_ISCHR(info.st_mode)  ? "a character device"
                     : S_ISBLK(info.st_mode)  ? "a block device"
                                              : "not a file";
  return InvalidArgumentError(absl::StrCat(path, " is ", kind, ": give a regular file"));
}

}  // namespace

Status CheckRegularFile(const std::string& path, uint64_t* bytes) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoError(errno, path);
  BERTH_RETURN_IF_ERROR(CheckMode(path, info));
  *bytes = static_cast<uint64_t>(info.st_size);
  return Status();
}

Result<FileSet> FileSet::Open(const std::vector<std::string>& paths, bool direct,
                              StorageSystem* system) {
  FileSet files;
  for (const std::string& path : paths) {
    uint64_t bytes = 0;
    BERTH_RETURN_IF_ERROR(CheckRegularFile(path, &bytes));
    // O_NONBLOCK does nothing to a regular file and keeps a fifo that took its place from blocking.
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (direct ? O_DIRECT : 0);
    const int fd = system->Open(path.c_str(), flags);
    if (fd < 0) {
      return ErrnoError(-fd, direct ? absl::StrCat("opening ", path, " with O_DIRECT")
                                    : absl::StrCat("opening ", path));
    }
    files.fds_.push_back(fd);
    struct stat info = {};
    if (::fstat(fd, &info) != 0) return ErrnoError(errno, path);
    BERTH_RETURN_IF_ERROR(CheckMode(path, info));
    files.bytes_.push_back(static_cast<uint64_t>(info.st_size));
    files.paths_.push_back(path);
    // Reads are far apart; what the kernel read ahead would be memory that nothing uses.
    if (!direct) ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  }
  return files;
}

FileSet::~FileSet() { CloseAll(); }

FileSet::FileSet(FileSet&& other) noexcept
    : fds_(std::exchange(other.fds_, {})),
      bytes_(std::exchange(other.bytes_, {})),
      paths_(std::exchange(other.paths_, {})) {}

FileSet& FileSet::operator=(FileSet&& other) noexcept {
  if (this != &other) {
    CloseAll();
    fds_ = std::exchange(other.fds_, {});
    bytes_ = std::exchange(other.bytes_, {});
    paths_ = std::exchange(other.paths_, {});
  }
  return *this;
}

void FileSet::CloseAll() {
  for (const int fd : fds_) ::close(fd);
  fds_.clear();
}

std::string_view FileSet::path(uint32_t file) const {
  return file < paths_.size() ? std::string_view(paths_[file]) : "file that is not open";
}

}  // namespace berth::io
