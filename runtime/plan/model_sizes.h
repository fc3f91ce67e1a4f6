// ModelSizes: what planning must know of a model. Sizes and counts only, so that it can come from a
// catalog or be stated without any model at hand.
#ifndef BERTH_RUNTIME_PLAN_MODEL_SIZES_H_
#define BERTH_RUNTIME_PLAN_MODEL_SIZES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "berth/status.h"
#include "scheduler/geometry.h"

namespace berth {

// A slot of one size class, on each tier.
struct SlotBytes {
  uint64_t card = 0;
  uint64_t host = 0;  // the worst of its units: extents rounded out to the drive's alignment
};

struct ModelSizes {
  scheduler::Geometry geometry;
  std::vector<SlotBytes> class_slot_bytes;  // [size classes]
  uint32_t hidden = 0;                      // 0 where nothing is computed
  uint32_t max_ffn = 0;                     // over all layers
  uint64_t sibling_bytes = 0;               // of all layers, kept by each card

  uint64_t largest_host_slot() const;
};

// Sizes of a model that is only stated: unit_bytes has one value for all layers or one for each. A
// unit is one extent that begins on the drive's alignment, as in a pack. InvalidArgument for
// counts of 0, top_k above experts, sizes that no model has.
Result<ModelSizes> StatedSizes(uint32_t layers, uint32_t experts, uint32_t top_k,
                               std::span<const uint64_t> unit_bytes);

}  // namespace berth

#endif  // BERTH_RUNTIME_PLAN_MODEL_SIZES_H_
