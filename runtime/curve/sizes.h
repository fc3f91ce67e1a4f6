// Sizes as people write them, and the slots of each pool that they come to.
#ifndef BERTH_RUNTIME_CURVE_SIZES_H_
#define BERTH_RUNTIME_CURVE_SIZES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "runtime/curve/pools.h"

namespace berth::curve {

// One word of --sizes.
struct SizeRequest {
  enum class Kind : uint8_t {
    kPercent,   // "12.5%" of all units
    kSlots,     // "333", in all
    kPerLayer,  // "13/layer"
    kBytes,     // "4GB"
  };
  std::string text;
  Kind kind = Kind::kSlots;
  double percent = 0;
  uint64_t count = 0;  // slots or bytes
};

// "12%,25%,333,4GB". InvalidArgument for anything else, naming the word.
Result<std::vector<SizeRequest>> ParseSizes(std::string_view list);

struct Size {
  std::string label;  // as it was asked for
  std::vector<uint32_t> pool_slots;
  uint64_t slots = 0;          // of all pools
  bool below_cycle = false;    // of one token, in a pool of several layers
  bool below_minimum = false;  // 3 x top-k in a size class: no arena is that small
};

// Ascending, equal ones once. Where nothing is asked for: a ladder, from the minimum on.
// InvalidArgument for a size of no slot or of more slots than there are units, and for bytes where
// the units' are not known. More bytes than all units take are all units.
Result<std::vector<Size>> PlaceSizes(std::span<const SizeRequest> requests, const Pools& pools);

}  // namespace berth::curve

#endif  // BERTH_RUNTIME_CURVE_SIZES_H_
