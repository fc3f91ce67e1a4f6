// The tuned kernels of a format for few rows: products by integer dot instructions, a block's share
// of the tiles of all units (share_dots.h); on a Radeon, a warp's by itself (direct_dots.h). Where
// units of many rows are about, they come first (wide_kernel.h). Sums follow when all shares have
// ended (shares.h).
#ifndef BERTH_KERNELS_GPU_DOT_KERNEL_H_
#define BERTH_KERNELS_GPU_DOT_KERNEL_H_

#include "kernels/gpu/direct_dots.h"
#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/share_dots.h"
#include "kernels/gpu/shares.h"
#include "kernels/gpu/tile_stages.h"
#include "kernels/gpu/wide_kernel.h"

namespace berth::kernels::gpu {

template <typename F>
inline constexpr uint32_t kDotCopies = kTableCopies<F, kMostTableBytes>;
template <typename F>
inline constexpr uint32_t kWideDotCopies = kTableCopies<F, kMostWideTableBytes>;

// A block's shared memory (DotFixedBytes), kCopies of the table, local rows, stages.
template <typename F, uint32_t kCopies>
class DotMemory {
 public:
  BERTH_CARD_ONLY DotMemory(const ProductArgs& a, uint8_t* shared) : a_(a), shared_(shared) {}

  BERTH_CARD_ONLY uint32_t* words() const { return reinterpret_cast<uint32_t*>(shared_); }
  BERTH_CARD_ONLY ProductArgs* args() const {
    return reinterpret_cast<ProductArgs*>(shared_ + kShareWords * 4 + kDotUnits * sizeof(CardUnit));
  }
  BERTH_CARD_ONLY uint32_t* table() const {
    return reinterpret_cast<uint32_t*>(shared_ + DotFixedBytes(Warps()));
  }
  BERTH_CARD_ONLY uint8_t* behind_table() const {
    return shared_ + DotFixedBytes(Warps()) + F::kTableWords * kCopies * 4;
  }
  BERTH_CARD_ONLY CardTable Table() const { return TableOfLane<kCopies>(table()); }
  BERTH_CARD_ONLY LocalRows<> Local() const {
    return LocalRows<>(a_, a_.list.pairs, behind_table(), kHalves);
  }

  // What this warp takes its part of the block's shares by.
  BERTH_CARD_ONLY auto Dots(const LocalRows<>& local) const {
    const uint32_t warp = ThreadIndex() / kWarp;
    if constexpr (kDirect) {
      auto* const states = reinterpret_cast<DotState*>(shared_ + kShareWords * 4);
      auto* const outputs = reinterpret_cast<DotOutput*>(states + Warps());
      return DirectDots<F>(a_, states + warp, outputs + warp * kDotOutputs, Table());
    } else {
      auto* const units = reinterpret_cast<CardUnit*>(shared_ + kShareWords * 4);
      uint8_t* const stages = behind_table() + a_.local_rows * LocalRowBytes(a_.cols, kHalves);
      return ShareDots<F>(
          a_, words(), units, a_.list.units, a_.list.pairs, local, Table(),
          RowStages<F>(a_, stages + warp * a_.depth * StageBytes(a_), WarpBarriers()));
    }
  }
  // Once, before anything is taken.
  BERTH_CARD_ONLY void MakeBarriers() const {
    if constexpr (!kDirect) RowStages<F>::MakeBarriers(a_, WarpBarriers());
  }

 private:
  static constexpr bool kHalves = F::kKind.minima && F::kKind.halves;
  BERTH_CARD_ONLY static uint32_t Warps() { return BlockThreads() / kWarp; }
  BERTH_CARD_ONLY uint64_t* WarpBarriers() const {
    return reinterpret_cast<uint64_t*>(shared_ + kDotBarriersAt) +
           ThreadIndex() / kWarp * kDotBarriers;
  }

  const ProductArgs& a_;
  uint8_t* const shared_;
};

// Of few rows: no unit is wide.
template <typename F>
BERTH_KERNEL(kDotThreads, kDotBlocks)
DotKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  const DotMemory<F, kCopies> memory(a, shared);
  const uint32_t ticket = AskForShare(a);
  memory.MakeBarriers();
  const LocalRows<> local = memory.Local();
  auto self = memory.Dots(local);
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(memory.table());
  // The list that down goes by has been there since the launch before began (card_warp.h).
  bool waits = a.down && !kDirect;
  if (!waits) WaitAndGoOn();
  for (uint32_t share = TakeShare(a, memory.words(), ticket); share < GridBlocks();
       share = EndShare(a, memory.words())) {
    self.Run(share, 0, waits);
    waits = false;
  }
  if (waits) WaitAndGoOn();
  SumShares(a);
}

// The wide units of a share, where there are any. Returns its turn for what comes behind them.
template <typename F, uint32_t kCopies>
BERTH_CARD_ONLY uint32_t RunWide(const ProductArgs& a, uint8_t* shared, bool few, uint32_t units,
                                 uint32_t share) {
  const DotMemory<F, kCopies> memory(a, shared);
  const uint32_t turn =
      few ? WideBlock<F, kCopies, true>(a, memory.table(), memory.Table()).Run(units, share)
          : WideBlock<F, kCopies, false>(a, memory.table(), memory.Table()).Run(units, share);
  if constexpr (kHasWidePoints<F>) {
    FillTableCopies<F, kCopies>(memory.table());
    SyncBlock();
  }
  return turn;
}
// Whether these all have few pairs: the first unit has most.
BERTH_CARD_ONLY bool HaveFewPairs(const ProductArgs& a, uint32_t units) {
  return units != 0 && WideFewFits(a.wide_pairs) && a.list.units[0].count <= kWideFewPairs;
}
template <typename F, uint32_t kCopies>
BERTH_CARD_ONLY void RunDots(const ProductArgs& a, uint8_t* shared, uint32_t share,
                             uint32_t first_unit, bool waits) {
  const DotMemory<F, kCopies> memory(a, shared);
  const LocalRows<> local = memory.Local();
  auto dots = memory.Dots(local);
  dots.Run(share, first_unit, waits);
  dots.Close();
}
// The same as functions of their own, so that registers are dealt out to the rest as if there were
// no others; `a` lies in shared memory.
template <typename F>
BERTH_CARD_APART uint32_t RunWideApart(const ProductArgs& a, uint8_t* shared, uint32_t units,
                                       uint32_t share) {
  return RunWide<F, kDotCopies<F>>(a, shared, HaveFewPairs(a, units), units, share);
}
template <typename F>
BERTH_CARD_APART void RunDotsApart(const ProductArgs& a, uint8_t* shared, uint32_t share,
                                   uint32_t first_unit) {
  RunDots<F, kWideDotCopies<F>>(a, shared, share, first_unit, false);
}

// Of calls most of whose units are wide: these (wide_kernel.h), then the others.
template <typename F>
BERTH_KERNEL(kDotThreads, kDotBlocks)
WideKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kWideDotCopies<F>;
  const DotMemory<F, kCopies> memory(a, shared);
  memory.MakeBarriers();
  ProductArgs* const own = memory.args();
  if (ThreadIndex() == 0) *own = a;
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(memory.table());
  WaitAndGoOn();
  SyncBlock();
  const uint32_t units = *a.list.wide_count;
  const bool few = HaveFewPairs(a, units);
  for (uint32_t share = TakeShare(a, memory.words()); share < GridBlocks();
       share = EndShare(a, memory.words())) {
    const uint32_t turn = units == 0 ? share : RunWide<F, kCopies>(a, shared, few, units, share);
    RunDotsApart<F>(*own, shared, turn, units);
  }
  SumShares(a);
}

// Of calls few of whose units are wide, if any. Wide units are the slower for it: the compiler has
// matrix instructions wait for each other in a function.
template <typename F>
BERTH_KERNEL(kDotThreads, kDotBlocks)
RarelyWideKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  const DotMemory<F, kCopies> memory(a, shared);
  memory.MakeBarriers();
  if (ThreadIndex() == 0) *memory.args() = a;
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(memory.table());
  bool waits = a.down;
  if (!waits) WaitAndGoOn();
  SyncBlock();
  const uint32_t units = *a.list.wide_count;
  for (uint32_t share = TakeShare(a, memory.words()); share < GridBlocks();
       share = EndShare(a, memory.words())) {
    uint32_t turn = share;
    if (units != 0) {
      if (waits) WaitAndGoOn();
      waits = false;
      turn = RunWideApart<F>(*memory.args(), shared, units, share);
    }
    RunDots<F, kCopies>(a, shared, turn, units, waits);
    waits = false;
  }
  if (waits) WaitAndGoOn();
  SumShares(a);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_KERNEL_H_
