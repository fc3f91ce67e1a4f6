// CardMemory: the memory of a card that the host backend plays: a budget, and blocks taken from it.
#ifndef BERTH_KERNELS_HOST_CARD_MEMORY_H_
#define BERTH_KERNELS_HOST_CARD_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "kernels/device.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {

// Thread-safe. Must outlive every block it gave out.
class CardMemory {
 public:
  CardMemory(std::string card, uint64_t budget_bytes, bool poison)
      : card_(std::move(card)), budget_bytes_(budget_bytes), poison_(poison) {}
  ~CardMemory();

  uint64_t free_bytes() const BERTH_EXCLUDES(mutex_);
  // Blocks are charged rounded up to 256 bytes.
  Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes, std::string_view purpose)
      BERTH_EXCLUDES(mutex_);
  // Whether [begin, begin + bytes) lies in one block.
  bool Contains(const std::byte* begin, size_t bytes) const BERTH_EXCLUDES(mutex_);

 private:
  class Block;
  struct Range {
    const std::byte* begin;
    size_t bytes;
  };

  void Free(const Block& block) BERTH_EXCLUDES(mutex_);

  const std::string card_;
  const uint64_t budget_bytes_;
  const bool poison_;
  mutable Mutex mutex_;
  uint64_t used_bytes_ BERTH_GUARDED_BY(mutex_) = 0;
  std::vector<Range> ranges_ BERTH_GUARDED_BY(mutex_);  // by address
};

// Half of what the machine has available now; a quarter of its physical memory where the kernel
// does not say what is available.
uint64_t DefaultCardBytes();

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_CARD_MEMORY_H_
