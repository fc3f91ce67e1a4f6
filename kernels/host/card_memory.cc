#include "kernels/host/card_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::kernels {

// Pages of its own for every block. From 2 MiB on it begins at a huge page's boundary, so that the
// kernel can back all of it but the tail with huge pages.
class CardMemory::Block final : public DeviceMemory {
 public:
  Block(CardMemory* owner, std::byte* mapping, size_t mapped, std::byte* data, size_t bytes)
      : owner_(owner), mapping_(mapping), mapped_(mapped), data_(data), bytes_(bytes) {}
  ~Block() override {
    owner_->Free(*this);
    munmap(mapping_, mapped_);
  }
  std::byte* data() const override { return data_; }
  size_t bytes() const override { return bytes_; }

 private:
  CardMemory* owner_;
  std::byte* mapping_;
  size_t mapped_;
  std::byte* data_;
  size_t bytes_;
};

CardMemory::~CardMemory() {
  MutexLock lock(&mutex_);
  BERTH_CHECK_MSG(ranges_.empty(), "card memory outlives its device");
}

uint64_t CardMemory::free_bytes() const {
  MutexLock lock(&mutex_);
  return budget_bytes_ - used_bytes_;
}

Result<std::unique_ptr<DeviceMemory>> CardMemory::Allocate(size_t bytes, std::string_view purpose) {
  const std::string what = "card " + card_ + ": " + std::string(purpose);
  if (bytes == 0) return InvalidArgumentError(what + ": asked for 0 bytes");
  const auto exhausted = [&](uint64_t free) {
    return ResourceExhaustedError(what + ": asked " + FormatBytes(bytes) + ", free " +
                                  FormatBytes(free) + " of " + FormatBytes(budget_bytes_) +
                                  ": lower --arena or --ring, or give the card more memory");
  };
  if (bytes > budget_bytes_) return exhausted(free_bytes());
  const uint64_t charged = AlignUp(bytes, kCardAlign);
  {
    MutexLock lock(&mutex_);
    if (charged > budget_bytes_ - used_bytes_) return exhausted(budget_bytes_ - used_bytes_);
    used_bytes_ += charged;
  }
  const size_t slack = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  const size_t mapped = AlignUp(bytes, kIoAlign) + slack;
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    const int error = errno;
    MutexLock lock(&mutex_);
    used_bytes_ -= charged;
    return ErrnoError(error, what + ": mapping " + FormatBytes(bytes) + " of host memory");
  }
  std::byte* data = static_cast<std::byte*>(mapping);
  if (slack != 0) {
    data += -reinterpret_cast<uintptr_t>(mapping) % kHugePageBytes;
    (void)madvise(data, bytes, MADV_HUGEPAGE);  // advice: a kernel without it serves small pages
  }
  if (poison_) std::memset(data, 0xFF, bytes);
  auto block = std::make_unique<Block>(this, static_cast<std::byte*>(mapping), mapped, data, bytes);
  MutexLock lock(&mutex_);
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), data,
                                   [](const Range& a, const std::byte* b) { return a.begin < b; });
  ranges_.insert(at, {data, bytes});
  return std::unique_ptr<DeviceMemory>(std::move(block));
}

void CardMemory::Free(const Block& block) {
  MutexLock lock(&mutex_);
  used_bytes_ -= AlignUp(block.bytes(), kCardAlign);
  std::erase_if(ranges_, [&](const Range& range) { return range.begin == block.data(); });
}

bool CardMemory::Contains(const std::byte* begin, size_t bytes) const {
  MutexLock lock(&mutex_);
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                [](const std::byte* a, const Range& b) { return a < b.begin; });
  if (after == ranges_.begin()) return false;
  const Range& range = *--after;
  const size_t offset = static_cast<size_t>(begin - range.begin);
  return offset <= range.bytes && bytes <= range.bytes - offset;
}

uint64_t DefaultCardBytes() {
  uint64_t available = 0;
  if (std::FILE* file = std::fopen("/proc/meminfo", "re"); file != nullptr) {
    char line[256];
    unsigned long long kib = 0;
    while (std::fgets(line, sizeof(line), file) != nullptr) {
      if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) available = kib * 1024;
    }
    std::fclose(file);
  }
  if (available == 0) {
    available = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE))) / 2;
  }
  return AlignDown(available / 2, kCardAlign);
}

}  // namespace berth::kernels
