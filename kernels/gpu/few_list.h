// The list of units in a block's own shared memory: with few pairs every block makes it faster than
// one could make it for all.
#ifndef BERTH_KERNELS_GPU_FEW_LIST_H_
#define BERTH_KERNELS_GPU_FEW_LIST_H_

#include "kernels/gpu/few_args.h"
#include "kernels/gpu/work_list.h"

namespace berth::kernels::gpu {

// Units of more than `most` pairs (a router that names an expert twice) as several.
BERTH_CARD_ONLY void SplitLongUnits(CardUnit* units, uint32_t* unit_count, uint32_t most) {
  const uint32_t count = *unit_count;
  uint32_t to = 0;
  for (uint32_t i = 0; i < count; ++i) {
    to += (units[i].count + most - 1) / most;
  }
  *unit_count = to;
  // From the end on, so that nothing is written over that is still to be read.
  for (uint32_t i = count; i-- > 0;) {
    const CardUnit unit = units[i];
    uint32_t part = (unit.count + most - 1) / most;
    while (part-- > 0) {
      CardUnit own = unit;
      own.first = unit.first + part * most;
      const uint32_t left = unit.count - part * most;
      own.count = left < most ? left : most;
      units[--to] = own;
    }
  }
}

// The whole block calls it; synchronizes behind it. Units with many pairs come first, so those that
// lie side by side have about as many.
BERTH_CARD_ONLY WorkList ListInBlock(const FewArgs& a, uint8_t* shared) {
  auto* const words = reinterpret_cast<uint32_t*>(shared);
  PrepareArgs source = a.source;
  source.list.unit_count = words + kWordUnits;
  source.list.wide_count = words + kWordWide;
  source.list.pair_count = words + kWordPairs;
  source.list.units = reinterpret_cast<CardUnit*>(shared + a.at.units);
  source.list.pairs = reinterpret_cast<uint32_t*>(shared + a.at.pairs);
  // Once is enough.
  if (BlockIndex() != 0 || a.product.down) source.failed_unit = nullptr;
  if (ThreadIndex() == 0) words[kWordLong] = 0;
  MakeWorkList(source, reinterpret_cast<uint32_t*>(shared + a.at.scratch));
  SyncBlock();
  const WorkList& list = source.list;
  if (ThreadIndex() < *list.unit_count && list.units[ThreadIndex()].count > a.unit_pairs) {
    AtomicAdd(words + kWordLong, 1);
  }
  SyncBlock();
  if (words[kWordLong] != 0) {
    if (ThreadIndex() == 0) SplitLongUnits(list.units, list.unit_count, a.unit_pairs);
    SyncBlock();
  }
  return list;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_LIST_H_
