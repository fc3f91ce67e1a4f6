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

// An entry before Finish: the unit, and whether a step begins with it.
constexpr uint64_t kStepBegins = uint64_t{1} << 32;
// Nothing that comes later is known here: everything is forgotten in between. Where first uses are
// kept, an entry for each unit follows.
constexpr uint64_t kReset = kStepBegins | UINT32_MAX;
constexpr size_t kBufferEntries = 1u << 16;

Status Failed(const std::string& folder, const char* what, int error) {
  if (error == ENOSPC || error == EFBIG || error == EDQUOT) {
    return ResourceExhaustedError("the file of next uses found no room in '" + folder +
                                  "' (it takes 8 bytes per unit and step of the trace): name "
                                  "another folder with TMPDIR, or leave out belady");
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

Result<NextUseFile> NextUseFile::OfTrace(TraceFile* trace, const CountWorkload& workload,
                                         bool first_uses) {
  const TraceInfo& info = trace->info();
  const uint64_t units = uint64_t{info.layers} * info.experts;
  if (units > kMostUnits) {
    return InvalidArgumentError("next uses are found of at most " + FormatCount(kMostUnits) +
                                " units, the trace has " + FormatCount(units));
  }
  BERTH_ASSIGN_OR_RETURN(NextUseFile file, Create(workload.temporary_folder,
                                                  static_cast<uint32_t>(units), first_uses));
  BERTH_ASSIGN_OR_RETURN(StepReader reader, StepReader::Create(trace, workload));
  StepBlock block;
  while (true) {
    BERTH_ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
    if (!more) break;
    BERTH_RETURN_IF_ERROR(file.Append(block, workload.granularity));
  }
  BERTH_RETURN_IF_ERROR(file.Finish());
  return file;
}

Result<NextUseFile> NextUseFile::Create(const std::string& folder, uint32_t units,
                                        bool first_uses) {
  std::string where = folder;
  if (where.empty()) {
    std::error_code error;
    where = std::filesystem::temp_directory_path(error).string();
    if (error) {
      return NotFoundError("there is no folder for temporary files (" + error.message() +
                           "): name one with TMPDIR");
    }
  }
  const int fd = OpenUnnamed(where);
  if (fd < 0) return Failed(where, "cannot create", errno);
  return NextUseFile(std::move(where), fd, units, first_uses);
}

NextUseFile::NextUseFile(std::string folder, int fd, uint32_t units, bool first_uses)
    : folder_(std::move(folder)), fd_(fd), first_uses_(first_uses), next_(units) {
  buffer_.reserve(kBufferEntries);
}

NextUseFile::NextUseFile(NextUseFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      fd_(std::exchange(other.fd_, -1)),
      first_uses_(other.first_uses_),
      entries_(other.entries_),
      read_(other.read_),
      buffer_(std::move(other.buffer_)),
      given_(other.given_),
      next_(std::move(other.next_)) {}

NextUseFile::~NextUseFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status NextUseFile::Append(const StepBlock& block, Granularity granularity) {
  buffer_.clear();
  if (block.reset) {
    buffer_.push_back(kReset);
    if (first_uses_) buffer_.resize(1 + next_.size());
  }
  const size_t first = buffer_.size();
  buffer_.resize(first + block.units.size());
  uint64_t* const entries = buffer_.data() + first;
  uint32_t at = 0;
  for (const Run& run : block.runs) {
    uint64_t begins = kStepBegins;
    for (; at < run.end; ++at) {
      entries[at] = begins | block.units[at];
      if (granularity == Granularity::kStep) begins = 0;
    }
  }
  BERTH_RETURN_IF_ERROR(Write(entries_, buffer_));
  entries_ += buffer_.size();
  return Status();
}

Status NextUseFile::Finish() {
  std::fill(next_.begin(), next_.end(), policies::kNeverUsed);
  size_t most = kBufferEntries;
  for (uint64_t end = entries_; end > 0;) {
    const uint64_t begin = end - std::min<uint64_t>(end, most);
    buffer_.resize(end - begin);
    BERTH_RETURN_IF_ERROR(ReadAt(begin, buffer_));
    // Whole steps only; what stands before the first beginning comes with the next buffer.
    std::span<uint64_t> left(buffer_);
    size_t step = left.size();
    while (step-- > 0) {
      if ((left[step] & kStepBegins) == 0) continue;
      FillStep(begin + step, left.subspan(step));
      left = left.first(step);
    }
    if (left.size() == buffer_.size()) {
      most *= 2;  // a step larger than the buffer
      continue;
    }
    BERTH_RETURN_IF_ERROR(Write(begin + left.size(), std::span(buffer_).subspan(left.size())));
    end = begin + left.size();
  }
  buffer_.clear();
  return Status();
}

void NextUseFile::FillStep(uint64_t first_use, std::span<uint64_t> step) {
  if (step[0] == kReset) {
    std::copy_n(next_.begin(), step.size() - 1, step.begin() + 1);
    return std::fill(next_.begin(), next_.end(), policies::kNeverUsed);
  }
  if (step.size() == 1) {
    step[0] = std::exchange(next_[static_cast<uint32_t>(step[0])], first_use);
    return;
  }
  order_.clear();
  for (uint64_t& entry : step) {
    order_.push_back(static_cast<uint32_t>(entry));
    entry = next_[order_.back()];
  }
  std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
    return next_[a] != next_[b] ? next_[a] < next_[b] : a < b;
  });
  for (const uint32_t unit : order_) next_[unit] = first_use++;
}

Status NextUseFile::Read(StepBlock* block) {
  if (block->reset) BERTH_RETURN_IF_ERROR(ReadReset(&block->first_uses));
  block->next_uses.resize(block->units.size());
  return ReadUses(block->next_uses);
}

Status NextUseFile::ReadReset(std::vector<uint64_t>* first_uses) {
  uint64_t reset = 0;
  BERTH_RETURN_IF_ERROR(ReadUses(std::span(&reset, 1)));
  first_uses->resize(first_uses_ ? next_.size() : 0);
  return ReadUses(*first_uses);
}

Status NextUseFile::ReadUses(std::span<uint64_t> next_uses) {
  while (!next_uses.empty()) {
    if (given_ == buffer_.size()) {
      // The trace was read twice and had more in it the second time.
      if (read_ == entries_) return DataLossError("the trace changed while it was read");
      buffer_.resize(std::min<uint64_t>(kBufferEntries, entries_ - read_));
      given_ = 0;
      BERTH_RETURN_IF_ERROR(ReadAt(read_, buffer_));
      read_ += buffer_.size();
    }
    const size_t count = std::min(next_uses.size(), buffer_.size() - given_);
    std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(given_), count, next_uses.begin());
    given_ += count;
    next_uses = next_uses.subspan(count);
  }
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
    if (got == 0) return DataLossError("the file of next uses in '" + folder_ + "' was cut");
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return Status();
}

}  // namespace berth::count
