#include "io/file/output_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "runtime/base/math.h"

namespace berth::io {
namespace {

// Pieces from this size on are worth the way past the page cache.
constexpr size_t kDirectBytes = 1u << 20;

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryMark = ".berth-";
constexpr std::string_view kTemporaryEnd = ".tmp";

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// ".<name>.berth-": temporaries of this target begin so.
std::string TemporaryPrefix(const std::string& path) {
  return "." + fs::path(path).filename().string() + std::string(kTemporaryMark);
}

// Temporaries whose process is gone: whoever writes one holds a lock on it.
void RemoveStaleTemporaries(const std::string& path) {
  const std::string prefix = TemporaryPrefix(path);
  std::error_code error;
  for (fs::directory_iterator at(FolderOf(path), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(kTemporaryEnd)) continue;
    const int fd = open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(at->path().c_str());
    close(fd);
  }
}

// A folder's entries reach the drive only when the folder itself is synced.
Status SyncFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, folder);
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  // Some file systems cannot sync folders and say EINVAL; there is no more to do there.
  if (result != 0 && error != EINVAL) return ErrnoError(error, folder + ": sync");
  return Status();
}

Status Exists(const std::string& path) {
  return FailedPreconditionError(path +
                                 ": exists already: remove it, or say --force to replace it");
}

}  // namespace

std::string OutputFile::folder() const { return FolderOf(path_); }

std::string OutputFile::Failed(std::string_view what) const {
  return path_ + ": " + std::string(what) + " (nothing was left behind)";
}

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path, uint64_t bytes,
                                                       const OutputOptions& options) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return InvalidArgumentError(path + ": is a directory");
    // A rename would put a file in the place of a device or a link.
    if (!S_ISREG(info.st_mode)) return InvalidArgumentError(path + ": is no regular file");
    if (!options.replace) return Exists(path);
  } else if (errno != ENOENT) {
    return ErrnoError(errno, path);
  }
  std::unique_ptr<OutputFile> file(new OutputFile(path, options));
  RemoveStaleTemporaries(path);
  BERTH_RETURN_IF_ERROR(file->OpenTemporary());
  BERTH_RETURN_IF_ERROR(file->Reserve(bytes));
  if (bytes >= kDirectBytes) {
    const std::string self = "/proc/self/fd/" + std::to_string(file->fd_);
    file->direct_fd_ = open(self.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  }
  return file;
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (direct_fd_ >= 0) close(direct_fd_);
  if (fd_ >= 0) close(fd_);
}

Status OutputFile::OpenTemporary() {
  // An unnamed file gets its name through /proc: without it there would be no way to commit.
  if (!options_.named_temporary && access("/proc/self/fd", X_OK) == 0) {
    fd_ = open(folder().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd_ >= 0) return Status();
    // EISDIR: a kernel without O_TMPFILE took it for an open of the folder.
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
      return ErrnoError(errno, Failed("cannot write to folder '" + folder() + "'"));
    }
  }
  return OpenNamedTemporary();
}

Status OutputFile::OpenNamedTemporary() {
  // The process id does not tell two outputs of one process apart: the target's name does.
  temporary_ = folder() + "/" + TemporaryPrefix(path_) + std::to_string(getpid()) +
               std::string(kTemporaryEnd);
  fd_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    temporary_.clear();
    return ErrnoError(errno, Failed("cannot write to folder '" + folder() + "'"));
  }
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno != ENOLCK && errno != EOPNOTSUPP) {
    return ErrnoError(errno, Failed("cannot lock the temporary file"));
  }
  return Status();
}

Status OutputFile::Reserve(uint64_t bytes) {
  if (bytes == 0) return Status();
  if (fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) == 0) return Status();
  if (errno != EOPNOTSUPP && errno != ENOSYS) {
    return ErrnoError(errno, Failed("cannot reserve " + std::to_string(bytes) + " bytes"));
  }
  if (ftruncate(fd_, static_cast<off_t>(bytes)) == 0) return Status();
  return ErrnoError(errno, Failed("cannot grow to " + std::to_string(bytes) + " bytes"));
}

Status OutputFile::Put(int fd, uint64_t offset, std::span<const std::byte> from) {
  size_t done = 0;
  while (done < from.size()) {
    const size_t want = std::min<size_t>(from.size() - done, size_t{1} << 30);
    const ssize_t put = pwrite(fd, from.data() + done, want, static_cast<off_t>(offset + done));
    if (put > 0) {
      done += static_cast<size_t>(put);
    } else if (put == 0 || errno != EINTR) {
      const int error = put == 0 ? ENOSPC : errno;
      return ErrnoError(error, Failed("writing at byte " + std::to_string(offset + done)));
    }
  }
  return Status();
}

// False where it did not work, for whatever reason: the caller writes the same bytes the plain way
// and reports what that says.
bool OutputFile::PutDirect(uint64_t offset, std::span<const std::byte> from) {
  const bool aligned = offset % kIoAlign == 0 && from.size() % kIoAlign == 0 &&
                       reinterpret_cast<uintptr_t>(from.data()) % kIoAlign == 0;
  if (direct_fd_ < 0 || !aligned) return false;
  ssize_t put;
  do {
    put = pwrite(direct_fd_, from.data(), from.size(), static_cast<off_t>(offset));
  } while (put < 0 && errno == EINTR);
  return put == static_cast<ssize_t>(from.size());
}

Status OutputFile::WriteAt(uint64_t offset, std::span<const std::byte> from) {
  if (from.size() < kDirectBytes) return Put(fd_, offset, from);
  // Every page is written by one of the two ways only, as a whole or in its parts.
  const size_t head = static_cast<size_t>(AlignUp(offset, kIoAlign) - offset);
  const size_t body = static_cast<size_t>(AlignDown(from.size() - head, kIoAlign));
  if (!PutDirect(offset + head, from.subspan(head, body))) {
    BERTH_RETURN_IF_ERROR(Put(fd_, offset, from));
    // Start writing back now, so that Commit's sync finds little left to do. Advice only.
    (void)sync_file_range(fd_, static_cast<off_t>(offset), static_cast<off_t>(from.size()),
                          SYNC_FILE_RANGE_WRITE);
    return Status();
  }
  BERTH_RETURN_IF_ERROR(Put(fd_, offset, from.first(head)));
  return Put(fd_, offset + head + body, from.subspan(head + body));
}

Status OutputFile::Commit() {
  if (fsync(fd_) != 0) return ErrnoError(errno, Failed("sync"));
  BERTH_RETURN_IF_ERROR(Publish());
  return SyncFolder(path_);
}

Status OutputFile::Publish() {
  if (!temporary_.empty()) return PublishOver(temporary_);
  const std::string self = "/proc/self/fd/" + std::to_string(fd_);
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return Status();
  }
  if (errno != EEXIST) return ErrnoError(errno, Failed("cannot give the file its name"));
  if (!options_.replace) return Exists(path_);
  // A link cannot replace a name, a rename can.
  temporary_ = folder() + "/" + TemporaryPrefix(path_) + std::to_string(getpid()) +
               std::string(kTemporaryEnd);
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    temporary_.clear();
    return ErrnoError(errno, Failed("cannot give the file its name"));
  }
  return PublishOver(temporary_);
}

Status OutputFile::PublishOver(const std::string& temporary) {
  int result = 0;
  if (options_.replace) {
    result = rename(temporary.c_str(), path_.c_str());
  } else {
    result = static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, temporary.c_str(), AT_FDCWD,
                                      path_.c_str(), RENAME_NOREPLACE));
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
      // A file system without that flag: a link never replaces either, the old name goes after.
      result = link(temporary.c_str(), path_.c_str());
      if (result == 0) unlink(temporary.c_str());
    }
  }
  if (result != 0) {
    if (errno == EEXIST) return Exists(path_);
    return ErrnoError(errno, Failed("cannot give the file its name"));
  }
  temporary_.clear();
  return Status();
}

Status WriteWholeFile(const std::string& path, std::span<const std::byte> bytes,
                      const OutputOptions& options) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                         OutputFile::Create(path, bytes.size(), options));
  BERTH_RETURN_IF_ERROR(file->WriteAt(0, bytes));
  return file->Commit();
}

}  // namespace berth::io
