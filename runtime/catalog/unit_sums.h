// UnitSums: the checksums of one unit, as packs and sidecars store them.
#ifndef BERTH_RUNTIME_CATALOG_UNIT_SUMS_H_
#define BERTH_RUNTIME_CATALOG_UNIT_SUMS_H_

#include <array>
#include <cstdint>

#include "runtime/catalog/catalog.h"

namespace berth::catalog {

// XXH3-64, seed 0. The unit's is what is checked before use; those of its tensors say afterwards
// which one of them is wrong.
struct UnitSums {
  uint64_t unit = 0;                            // as Catalog::checksum
  std::array<uint64_t, kMaxExtents> tensors{};  // in the order of their card offsets; 0: none
};
inline constexpr uint64_t kSumsPerUnit = 1 + kMaxExtents;
static_assert(sizeof(UnitSums) == kSumsPerUnit * sizeof(uint64_t), "stored as it lies in memory");

}  // namespace berth::catalog

#endif  // BERTH_RUNTIME_CATALOG_UNIT_SUMS_H_
