#include "kernels/host/card_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::kernels {

// Pages of its own for every block. From 2 MiB on it begins at a huge page's boundary, so that the
// kernel can back all of it but the tail with huge pages.
class CardMemory::Block final : public DeviceMemory {
 public:
  Block(CardLedger* ledger, std::byte* mapping, size_t mapped, std::byte* data, size_t bytes)
      : ledger_(ledger), mapping_(mapping), mapped_(mapped), data_(data), bytes_(bytes) {
    ledger_->Add(data_, bytes_);
  }
  ~Block() override {
    ledger_->Remove(data_, bytes_);
    munmap(mapping_, mapped_);
  }
  std::byte* data() const override { return data_; }
  size_t bytes() const override { return bytes_; }

 private:
  CardLedger* ledger_;
  std::byte* mapping_;
  size_t mapped_;
  std::byte* data_;
  size_t bytes_;
};

Result<std::unique_ptr<DeviceMemory>> CardMemory::Allocate(size_t bytes, std::string_view purpose) {
  BERTH_RETURN_IF_ERROR(ledger_.Charge(bytes, purpose));
  const size_t slack = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  const size_t mapped = AlignUp(bytes, kIoAlign) + slack;
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    const int error = errno;
    ledger_.Refund(bytes);
    return ErrnoError(
        error, ledger_.What(purpose) + ": mapping " + FormatBytes(bytes) + " of host memory");
  }
  std::byte* data = static_cast<std::byte*>(mapping);
  if (slack != 0) {
    data += -reinterpret_cast<uintptr_t>(mapping) % kHugePageBytes;
    (void)madvise(data, bytes, MADV_HUGEPAGE);  // advice: a kernel without it serves small pages
  }
  if (poison_) std::memset(data, 0xFF, bytes);
  return std::unique_ptr<DeviceMemory>(
      std::make_unique<Block>(&ledger_, static_cast<std::byte*>(mapping), mapped, data, bytes));
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
