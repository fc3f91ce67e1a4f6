// PointerTable: the card address of every resident unit; null where a unit is not published.
#ifndef BERTH_KERNELS_HOST_POINTER_TABLE_H_
#define BERTH_KERNELS_HOST_POINTER_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "berth/types.h"

namespace berth::kernels {

// A store publishes the bytes that were written before it; a load that sees the address sees them.
class PointerTable {
 public:
  explicit PointerTable(uint32_t units)
      : units_(units), addresses_(new std::atomic<const std::byte*>[units] {}) {}
  uint32_t units() const { return units_; }
  // `unit` must be below units(); kNoUnit never is.
  void Store(UnitIndex unit, const std::byte* address) {
    addresses_[unit].store(address, std::memory_order_release);
  }
  const std::byte* Load(UnitIndex unit) const {
    return addresses_[unit].load(std::memory_order_acquire);
  }

 private:
  const uint32_t units_;
  const std::unique_ptr<std::atomic<const std::byte*>[]> addresses_;
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_POINTER_TABLE_H_
