// Rounding and overflow-checked arithmetic for sizes that come out of files.
#ifndef BERTH_RUNTIME_BASE_MATH_H_
#define BERTH_RUNTIME_BASE_MATH_H_

#include <cstddef>
#include <cstdint>

namespace berth {

// Direct reads want offsets, lengths and addresses in multiples of this; it is the logical block
// of every drive in use and the page of every machine in use.
inline constexpr uint64_t kIoAlign = 4096;
// Tensors of a unit start at multiples of this on a card (facts of the coalescing rules of both
// vendors: 128-byte lines, 256-byte allocations).
inline constexpr uint64_t kCardAlign = 256;
inline constexpr uint64_t kHugePageBytes = 2u << 20;

constexpr uint64_t AlignDown(uint64_t value, uint64_t align) { return value - value % align; }
constexpr uint64_t AlignUp(uint64_t value, uint64_t align) {
  return AlignDown(value + align - 1, align);
}
constexpr uint64_t CeilDiv(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

// False on overflow; *out is untouched then.
inline bool CheckedMul(uint64_t a, uint64_t b, uint64_t* out) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  *out = product;
  return true;
}
inline bool CheckedAdd(uint64_t a, uint64_t b, uint64_t* out) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  *out = sum;
  return true;
}

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_MATH_H_
