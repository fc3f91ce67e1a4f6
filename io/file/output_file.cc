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
  if (path.empty()) return InvalidArgumentError("the output's name is empty: name a file");
  if (path == "-") {
    return InvalidArgumentError(
        "output -: this is written to files only: name one (./- if it is "
        "to have this name)");
  }
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
  BERTH_RETURN_IF_ERROR(file->OpenFolder());
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
  if (folder_fd_ >= 0) close(folder_fd_);
}

// Now, not when it is synced: by then the work is done, and it would be for nothing.
Status OutputFile::OpenFolder() {
  folder_fd_ = open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd_ >= 0 || errno == EACCES) return Status();
  return ErrnoError(errno, Failed("cannot open folder '" + folder() + "'"));
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

std::string OutputFile::TemporaryName() const {
  // The process id does not tell two outputs of one process apart: the target's name does.
  return folder() + "/" + TemporaryPrefix(path_) + std::to_string(getpid()) +
         std::string(kTemporaryEnd);
}

Status OutputFile::OpenNamedTemporary() {
  while (true) {
    fd_ = open(TemporaryName().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) return ErrnoError(errno, Failed("cannot write to folder '" + folder() + "'"));
    temporary_ = TemporaryName();
    if (flock(fd_, LOCK_EX) != 0 && errno != ENOLCK && errno != EOPNOTSUPP) {
      return ErrnoError(errno, Failed("cannot lock the temporary file"));
    }
    // Between the two, another process may have taken it for a dead one's and removed it.
    struct stat info;
    if (fstat(fd_, &info) != 0 || info.st_nlink > 0) return Status();
    close(fd_);
    fd_ = -1;
    temporary_.clear();
  }
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
  BERTH_RETURN_IF_ERROR(Sync());
  BERTH_RETURN_IF_ERROR(Publish());
  Status status = SyncFolder();
  if (!status.ok()) Withdraw();
  return status;
}

Status OutputFile::Sync() {
  if (fsync(fd_) != 0) return ErrnoError(errno, Failed("sync"));
  return Status();
}

Status OutputFile::Publish() {
  Status status = temporary_.empty() ? PublishUnnamed() : PublishNamed();
  published_ = status.ok();
  return status;
}

Status OutputFile::PublishUnnamed() {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_);
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return Status();
  }
  if (errno != EEXIST) return ErrnoError(errno, Failed("cannot give the file its name"));
  if (!options_.replace) return Exists(path_);
  // A link cannot replace a name, a rename can. As long as it is a temporary, the lock tells others
  // that its process lives; where there are no locks nobody removes it either.
  (void)flock(fd_, LOCK_EX | LOCK_NB);
  const std::string name = TemporaryName();
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return ErrnoError(errno, Failed("cannot give the file its name"));
  }
  temporary_ = name;
  return Replace();
}

Status OutputFile::PublishNamed() {
  int result = static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, temporary_.c_str(), AT_FDCWD,
                                        path_.c_str(), RENAME_NOREPLACE));
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
    // A file system without that flag: a link never replaces either, the old name goes after.
    result = link(temporary_.c_str(), path_.c_str());
    if (result == 0) unlink(temporary_.c_str());
  }
  if (result == 0) {
    temporary_.clear();
    return Status();
  }
  // One without links as well can only rename.
  const bool exists = errno == EEXIST;
  if (exists && !options_.replace) return Exists(path_);
  if (!exists && !(options_.replace && (errno == EPERM || errno == EOPNOTSUPP))) {
    return ErrnoError(errno, Failed("cannot give the file its name"));
  }
  return Replace();
}

Status OutputFile::Replace() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoError(errno, Failed("cannot give the file its name"));
  }
  temporary_.clear();
  replaced_ = true;
  return Status();
}

// A folder's entries reach the drive only when the folder itself is synced.
Status OutputFile::SyncFolder() {
  const int result = folder_fd_ >= 0 ? fsync(folder_fd_) : syncfs(fd_);
  // Some file systems cannot sync folders and say EINVAL; there is no more to do there.
  if (result == 0 || errno == EINVAL) return Status();
  const std::string what = "sync of folder '" + folder() + "'";
  if (!replaced_) return ErrnoError(errno, Failed(what));
  return ErrnoError(errno, path_ + ": was replaced, but may not be on the drive yet: " + what);
}

void OutputFile::Withdraw() {
  if (!published_ || replaced_) return;
  // Only this very file: another process may have replaced it already.
  struct stat mine, there;
  if (fstat(fd_, &mine) != 0 || lstat(path_.c_str(), &there) != 0) return;
  if (mine.st_dev == there.st_dev && mine.st_ino == there.st_ino) unlink(path_.c_str());
  published_ = false;
}

Status CommitAll(std::span<const std::unique_ptr<OutputFile>> files) {
  if (files.empty()) return Status();
  for (const auto& file : files) BERTH_RETURN_IF_ERROR(file->Sync());
  Status status;
  for (size_t i = files.size(); i-- > 0 && status.ok();) status = files[i]->Publish();
  std::string replaced;
  OutputFile* speaker = files.front().get();
  for (const auto& file : files) {
    if (!file->replaced()) continue;
    replaced += (replaced.empty() ? "" : ", ") + file->path();
    speaker = file.get();
  }
  if (status.ok()) {
    status = speaker->SyncFolder();
    // All of them are there, and of those that were there before one cannot be had back.
    if (status.ok() || !replaced.empty()) return status;
  }
  for (const auto& file : files) file->Withdraw();
  if (replaced.empty()) return status;
  return Status(status.code(), std::string(status.message()) + "; replaced already: " + replaced +
                                   ": write all of them again");
}

Status CheckIsNoInput(const std::string& output, std::span<const std::string> inputs,
                      std::string_view what) {
  struct stat out;
  if (stat(output.c_str(), &out) != 0) return Status();
  for (const std::string& input : inputs) {
    struct stat in;
    if (stat(input.c_str(), &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
      return InvalidArgumentError(output + ": is " + std::string(what) + ": name another output");
    }
  }
  return Status();
}

bool SamePlace(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto place = [&error](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return a == b || (place(a) == place(b) && !error);
}

Status WriteWholeFile(const std::string& path, std::span<const std::byte> bytes,
                      const OutputOptions& options) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                         OutputFile::Create(path, bytes.size(), options));
  BERTH_RETURN_IF_ERROR(file->WriteAt(0, bytes));
  return file->Commit();
}

}  // namespace berth::io
