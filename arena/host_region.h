// HostRegion: host memory that drives read into and cards copy from.
//
//   mmap (private, anonymous, 2 MiB aligned) -> bind to a NUMA node -> MADV_HUGEPAGE -> touch
//     -> MADV_COLLAPSE, count what became huge -> mlock
//   torn down in reverse by the destructor, after every user has drained
//
// Each step that the machine refuses is skipped and told in `note`; only the mmap itself can fail.
#ifndef BERTH_ARENA_HOST_REGION_H_
#define BERTH_ARENA_HOST_REGION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/status.h"

namespace berth::arena {

struct HostRegionOptions {
  uint64_t bytes = 0;   // rounded up to 2 MiB; 0 is an InvalidArgument
  int numa_node = -1;   // -1: no binding
  bool lock = true;     // try mlock; a refusal is a note
  std::string purpose;  // for messages: "host tier", "staging"
};

class HostRegion {
 public:
  static Result<HostRegion> Create(const HostRegionOptions& options);
  HostRegion() = default;
  ~HostRegion();
  HostRegion(HostRegion&& other) noexcept;
  HostRegion& operator=(HostRegion&& other) noexcept;

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t huge_bytes() const { return huge_bytes_; }  // as the kernel reports after collapsing
  bool locked() const { return locked_; }
  const std::string& note() const { return note_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t huge_bytes_ = 0;
  bool locked_ = false;
  std::string note_;
};

// MemAvailable of the machine, or the cgroup's remaining allowance where that is smaller; bytes.
Result<uint64_t> AvailableHostBytes();

}  // namespace berth::arena

#endif  // BERTH_ARENA_HOST_REGION_H_
