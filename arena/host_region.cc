#include "arena/host_region.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

// Linux 6.1; the headers of Debian 12 may not have it.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace berth::arena {
namespace {

constexpr uint64_t kSmallPage = 4096;
// From <numaif.h>, which belongs to libnuma's headers.
constexpr int kMpolPreferred = 1;
constexpr int kMpolFNode = 1;
constexpr int kMpolFAddr = 2;
constexpr int kNodeMax = 1024;

// The region lies between two stretches without access, so that the kernel never merges its mapping
// with a neighbour (which would blur the count of huge pages) and an overrun faults at once.
constexpr uint64_t kGuard = kHugePageBytes;

void AddNote(std::string* note, const std::string& what) {
  absl::StrAppend(note, note->empty() ? "" : "; ", what);
}

std::string Refused(const char* step, int error) {
  return absl::StrCat(step, " refused: ", std::strerror(error));
}

// The first aligned byte of `bytes` accessible bytes, or nullptr with errno set.
std::byte* MapAligned(uint64_t bytes) {
  const uint64_t reserved = bytes + 2 * kGuard + kHugePageBytes;
  void* const reservation =
      ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) return nullptr;
  const auto first = reinterpret_cast<uintptr_t>(reservation);
  const uintptr_t begin = AlignUp(first + kGuard, kHugePageBytes);
  if (begin - kGuard > first) ::munmap(reservation, begin - kGuard - first);
  const uintptr_t end = begin + bytes + kGuard;
  if (first + reserved > end) ::munmap(reinterpret_cast<void*>(end), first + reserved - end);
  if (::mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    const int error = errno;
    ::munmap(reinterpret_cast<void*>(begin - kGuard), bytes + 2 * kGuard);
    errno = error;
    return nullptr;
  }
  return reinterpret_cast<std::byte*>(begin);
}

// Preferred, not strict: a strict binding to a node that runs short ends in the OOM killer.
void Bind(std::byte* data, uint64_t bytes, int node, std::string* note) {
  std::array<unsigned long, kNodeMax / (8 * sizeof(unsigned long))> mask = {};
  if (node >= kNodeMax) {
    AddNote(note, absl::StrCat("no NUMA node ", node));
    return;
  }
  constexpr int kBits = 8 * sizeof(unsigned long);
  mask[node / kBits] |= 1ul << (node % kBits);
  if (::syscall(SYS_mbind, data, bytes, kMpolPreferred, mask.data(), kNodeMax, 0) != 0) {
    AddNote(note, Refused(absl::StrCat("binding to NUMA node ", node).c_str(), errno));
  }
}

// What the binding came to, looked up once per huge page.
void CheckNode(std::byte* data, uint64_t bytes, int node, std::string* note) {
  uint64_t elsewhere = 0;
  for (uint64_t at = 0; at < bytes; at += kHugePageBytes) {
    int found = -1;
    if (::syscall(SYS_get_mempolicy, &found, nullptr, 0, data + at, kMpolFNode | kMpolFAddr) != 0) {
      return;
    }
    if (found != node) elsewhere += kHugePageBytes;
  }
  if (elsewhere > 0) {
    AddNote(note, absl::StrCat(FormatBytes(elsewhere), " of ", FormatBytes(bytes),
                               " lie on another NUMA node than ", node));
  }
}

void Touch(std::byte* data, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += kSmallPage) {
    *static_cast<volatile std::byte*>(data + at) = std::byte{0};
  }
}

// AnonHugePages of the mapping, from /proc/self/smaps.
uint64_t CountHuge(const std::byte* data, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  bool inside = false;
  uint64_t huge = 0;
  while (std::getline(smaps, line)) {
    unsigned long long from = 0;
    unsigned long long to = 0;
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) {
      inside = from >= begin && to <= begin + bytes;
    } else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %llu kB", &kib) == 1) {
      huge += kib * 1024;
    }
  }
  return std::min(huge, bytes);
}

uint64_t MakeHuge(std::byte* data, uint64_t bytes, std::string* note) {
  uint64_t huge = CountHuge(data, bytes);
  if (huge < bytes) {
    // A chunk at a time, so that one that cannot be collapsed does not stop the rest.
    int error = 0;
    for (uint64_t at = 0; at < bytes; at += kHugePageBytes) {
      if (::madvise(data + at, kHugePageBytes, MADV_COLLAPSE) != 0) {
        error = errno;
        if (error == EINVAL) break;  // this kernel does not know it, or forbids huge pages
      }
    }
    huge = CountHuge(data, bytes);
    if (huge < bytes) {
      AddNote(note, absl::StrCat(FormatBytes(huge), " of ", FormatBytes(bytes),
                                 " are huge pages: reads need more CPU",
                                 error != 0 ? absl::StrCat(" (", std::strerror(error), ")") : ""));
    }
  }
  return huge;
}

bool Lock(std::byte* data, uint64_t bytes, std::string* note) {
  if (::mlock(data, bytes) == 0) return true;
  const int error = errno;
  rlimit limit = {};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  AddNote(note,
          absl::StrCat(Refused("mlock", error), " (memlock limit ", FormatBytes(limit.rlim_cur),
                       ": raise `ulimit -l` to ", bytes / 1024, " KiB or more)"));
  return false;
}

}  // namespace

Result<HostRegion> HostRegion::Create(const HostRegionOptions& options) {
  if (options.bytes == 0) {
    return InvalidArgumentError(absl::StrCat("host memory for ", options.purpose, ": 0 bytes"));
  }
  const uint64_t bytes = AlignUp(options.bytes, kHugePageBytes);
  // The reservation adds less than 16 MiB of addresses.
  std::byte* const data = options.bytes < (1ull << 56) ? MapAligned(bytes) : nullptr;
  if (data == nullptr) {
    return ResourceExhaustedError(absl::StrCat("host memory for ", options.purpose, ": no ",
                                               FormatBytes(options.bytes),
                                               ": give it a smaller budget"));
  }
  HostRegion region;
  region.data_ = data;
  region.bytes_ = bytes;
  if (options.numa_node >= 0) Bind(data, bytes, options.numa_node, &region.note_);
  if (::madvise(data, bytes, MADV_HUGEPAGE) != 0) {
    AddNote(&region.note_, Refused("MADV_HUGEPAGE", errno));
  }
  Touch(data, bytes);
  region.huge_bytes_ = MakeHuge(data, bytes, &region.note_);
  if (options.numa_node >= 0) CheckNode(data, bytes, options.numa_node, &region.note_);
  if (options.lock) region.locked_ = Lock(data, bytes, &region.note_);
  return region;
}

HostRegion::~HostRegion() {
  if (data_ == nullptr) return;
  if (locked_) ::munlock(data_, bytes_);
  ::munmap(data_ - kGuard, bytes_ + 2 * kGuard);
}

HostRegion::HostRegion(HostRegion&& other) noexcept { *this = std::move(other); }

HostRegion& HostRegion::operator=(HostRegion&& other) noexcept {
  // What this one held goes with `other`.
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(huge_bytes_, other.huge_bytes_);
  std::swap(locked_, other.locked_);
  std::swap(note_, other.note_);
  return *this;
}

}  // namespace berth::arena
