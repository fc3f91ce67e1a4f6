// Units before the launch that lists them has ended, so that their weights are on their way by
// then.
//
// Of the matrices behind gate and up, the list has been there since that launch began. Of gate and
// up, a warp finds the units of up to 32 router ids by itself, in the list's order (work_list.h).
#ifndef BERTH_KERNELS_GPU_EARLY_UNITS_H_
#define BERTH_KERNELS_GPU_EARLY_UNITS_H_

#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

class EarlyUnits {
 public:
  // The whole warp calls it, and all others.
  BERTH_CARD_ONLY explicit EarlyUnits(const ProductArgs& a) : a_(a) {
    if (a.down) {
      count_ = LoadShared(a.list.unit_count);
      return;
    }
    if (a.early_pairs == 0) return;
    const uint32_t lane = Lane();
    int32_t id = lane < a.early_pairs ? LoadShared(a.ids + lane) : kNoExpert;
    if (id < 0 || static_cast<uint32_t>(id) >= a.experts) id = kNoExpert;
    bool first = id != kNoExpert;
    for (uint32_t i = 0; i + 1 < a.early_pairs; ++i) {
      const uint32_t other = FromLane(static_cast<uint32_t>(id), i);
      first = first && (i >= lane || other != static_cast<uint32_t>(id));
    }
    if (first) {
      address_ = LoadShared(reinterpret_cast<const uint64_t*>(a.table) + a.first_unit +
                            static_cast<uint32_t>(id));
    }
    lanes_ = Ballot(first);
    for (uint32_t left = lanes_; left != 0; left &= left - 1) ++count_;
  }

  // 0 where nothing is known yet.
  BERTH_CARD_ONLY uint32_t count() const { return count_; }
  // The address of a unit's matrices; the rest of it is not set.
  BERTH_CARD_ONLY CardUnit At(uint32_t number) const {
    CardUnit unit;
    if (a_.down) {
      const auto at = LoadShared(reinterpret_cast<const uint64_t*>(&a_.list.units[number].down));
      unit.down = reinterpret_cast<const uint8_t*>(at);
      return unit;
    }
    uint32_t lanes = lanes_;
    for (uint32_t i = 0; i < number; ++i) lanes &= lanes - 1;
    uint32_t lane = 0;
    while ((lanes >> lane & 1) == 0) ++lane;
    const auto* const base = reinterpret_cast<const uint8_t*>(FromLane(address_, lane));
    if (base == nullptr) return unit;
    unit.gate = base + a_.offsets[0];
    unit.up = base + a_.offsets[a_.matrices - 1];
    return unit;
  }

 private:
  const ProductArgs& a_;
  uint64_t address_ = 0;  // of the unit whose first pair is the lane's
  uint32_t lanes_ = 0;    // with such a unit
  uint32_t count_ = 0;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_EARLY_UNITS_H_
