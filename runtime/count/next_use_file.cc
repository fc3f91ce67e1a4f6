#include "runtime/count/next_use_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "policies/policy.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::count {
namespace {

// An entry before Finish: the step above, the unit below. 2^40 steps are a year of a million
// passes an hour.
constexpr uint32_t kUnitBits = 24;
// Nothing that comes later is known here: everything is forgotten in between.
constexpr uint64_t kReset = UINT64_MAX;
constexpr size_t kBufferEntries = 1u << 16;

Status Failed(const std::string& folder, const char* what, int error) {
  if (error == ENOSPC || error == EFBIG || error == EDQUOT) {
    return ResourceExhaustedError("the file of next uses found no room in '" + folder +
                                  "' (it takes 8 bytes per unit and step of the trace): name "
                                  "another temporary folder, or leave out belady");
  }
  return ErrnoError(error, std::string(what) + " the file of next uses in '" + folder + "'");
}

// A file without a name.
int OpenUnnamed(const std::string& folder) {
  int fd = -1;
#ifdef O_TMPFILE
  fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
#endif
  std::string path = folder + "/berth-next-uses-XXXXXX";
  fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(path.c_str());
  return fd;
}

}  // namespace

Result<NextUseFile> NextUseFile::Create(const std::string& folder, uint32_t units) {
  BERTH_CHECK(units <= kMostUnits);
  std::string where = folder;
  if (where.empty()) {
    std::error_code error;
    where = std::filesystem::temp_directory_path(error).string();
    if (error) {
      return NotFoundError("there is no folder for temporary files (" + error.message() +
                           "): name one");
    }
  }
  const int fd = OpenUnnamed(where);
  if (fd < 0) return Failed(where, "cannot create", errno);
  return NextUseFile(std::move(where), fd, units);
}

NextUseFile::NextUseFile(std::string folder, int fd, uint32_t units)
    : folder_(std::move(folder)), fd_(fd), next_(units) {
  buffer_.reserve(kBufferEntries);
}

NextUseFile::NextUseFile(NextUseFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      fd_(std::exchange(other.fd_, -1)),
      step_(other.step_),
      entries_(other.entries_),
      read_(other.read_),
      buffer_(std::move(other.buffer_)),
      next_(std::move(other.next_)) {}

NextUseFile::~NextUseFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status NextUseFile::Append(const StepBlock& block, Granularity granularity) {
  buffer_.clear();
  if (block.reset) buffer_.push_back(kReset);
  uint32_t at = 0;
  for (const Run& run : block.runs) {
    for (; at < run.end; ++at) {
      buffer_.push_back(step_ << kUnitBits | block.units[at]);
      if (granularity == Granularity::kAccess) ++step_;
    }
    if (granularity == Granularity::kStep) ++step_;
  }
  BERTH_RETURN_IF_ERROR(Write(entries_, buffer_));
  entries_ += buffer_.size();
  return Status();
}

Status NextUseFile::Finish() {
  std::fill(next_.begin(), next_.end(), policies::kNeverUsed);
  for (uint64_t end = entries_; end > 0;) {
    const uint64_t begin = end - std::min<uint64_t>(end, kBufferEntries);
    buffer_.resize(end - begin);
    BERTH_RETURN_IF_ERROR(ReadAt(begin, buffer_));
    for (auto entry = buffer_.rbegin(); entry != buffer_.rend(); ++entry) {
      if (*entry == kReset) {
        std::fill(next_.begin(), next_.end(), policies::kNeverUsed);
        continue;
      }
      const uint64_t unit = *entry & ((uint64_t{1} << kUnitBits) - 1);
      *entry = std::exchange(next_[unit], *entry >> kUnitBits);
    }
    BERTH_RETURN_IF_ERROR(Write(begin, buffer_));
    end = begin;
  }
  return Status();
}

Status NextUseFile::Read(StepBlock* block) {
  if (block->reset) ++read_;
  block->next_uses.resize(block->units.size());
  BERTH_RETURN_IF_ERROR(ReadAt(read_, block->next_uses));
  read_ += block->units.size();
  return Status();
}

Status NextUseFile::Write(uint64_t at, std::span<const uint64_t> entries) {
  auto offset = static_cast<off_t>(at * sizeof(uint64_t));
  std::span<const std::byte> bytes = std::as_bytes(entries);
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed(folder_, "cannot write", written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return Status();
}

Status NextUseFile::ReadAt(uint64_t at, std::span<uint64_t> entries) {
  auto offset = static_cast<off_t>(at * sizeof(uint64_t));
  std::span<std::byte> bytes = std::as_writable_bytes(entries);
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd_, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(folder_, "cannot read", errno);
    // The trace was read twice and had more in it the second time.
    if (got == 0) return DataLossError("the trace changed while it was read");
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return Status();
}

}  // namespace berth::count
