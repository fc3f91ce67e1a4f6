// GpuMemory: a card's memory: what of it this process may use, and blocks taken from it.
#ifndef BERTH_KERNELS_GPU_GPU_MEMORY_H_
#define BERTH_KERNELS_GPU_GPU_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "berth/status.h"
#include "kernels/card_ledger.h"
#include "kernels/device.h"

namespace berth::kernels::gpu {

// How much of a card may be used, from one reading of the driver's.
struct GpuBudget {
  uint64_t bytes = 0;
  // Memory that stays free for the driver, for other programs and for what shows only later; kept
  // where the budget was not asked for.
  uint64_t reserve_bytes = 0;
  std::string note;  // where others hold memory that this card would otherwise have had
};
// `asked` 0: all but a reserve. ResourceExhausted where less is free than was asked for.
Result<GpuBudget> PlanBudget(std::string_view card, uint64_t asked, uint64_t free, uint64_t total);

// Thread-safe. Must outlive every block it gave out.
class GpuMemory {
 public:
  GpuMemory(std::string card, int ordinal, uint64_t budget_bytes)
      : ordinal_(ordinal), ledger_(std::move(card), budget_bytes) {}

  uint64_t free_bytes() const { return ledger_.free_bytes(); }
  // Blocks are charged rounded up to 256 bytes.
  Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes, std::string_view purpose);
  // Whether [begin, begin + bytes) lies in one block.
  bool Contains(const void* begin, size_t bytes) const { return ledger_.Contains(begin, bytes); }

 private:
  class Block;

  const int ordinal_;
  CardLedger ledger_;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_GPU_MEMORY_H_
