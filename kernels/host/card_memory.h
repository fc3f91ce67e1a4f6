// CardMemory: the memory of a card that the host backend plays: a budget, and blocks taken from it.
#ifndef BERTH_KERNELS_HOST_CARD_MEMORY_H_
#define BERTH_KERNELS_HOST_CARD_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "berth/status.h"
#include "kernels/card_ledger.h"
#include "kernels/device.h"

namespace berth::kernels {

// Thread-safe. Must outlive every block it gave out.
class CardMemory {
 public:
  CardMemory(std::string card, uint64_t budget_bytes, bool poison)
      : poison_(poison), ledger_(std::move(card), budget_bytes) {}

  uint64_t free_bytes() const { return ledger_.free_bytes(); }
  // Blocks are charged rounded up to 256 bytes.
  Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes, std::string_view purpose);
  // Whether [begin, begin + bytes) lies in one block.
  bool Contains(const std::byte* begin, size_t bytes) const {
    return ledger_.Contains(begin, bytes);
  }

 private:
  class Block;

  const bool poison_;
  CardLedger ledger_;
};

// Half of what the machine has available now; a quarter of its physical memory where the kernel
// does not say what is available.
uint64_t DefaultCardBytes();

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_CARD_MEMORY_H_
