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

// A block's shared memory (DotFixedBytes), the table, local rows, stages.
template <typename F>
class DotMemory {
 public:
  BERTH_CARD_ONLY DotMemory(const ProductArgs& a, uint8_t* shared) : a_(a), shared_(shared) {}

  BERTH_CARD_ONLY uint32_t* words() const { return reinterpret_cast<uint32_t*>(shared_); }
  BERTH_CARD_ONLY uint32_t* table() const {
    return reinterpret_cast<uint32_t*>(shared_ + DotFixedBytes(Warps()));
  }
  BERTH_CARD_ONLY uint8_t* behind_table() const {
    return shared_ + DotFixedBytes(Warps()) + F::kTableWords * kDotCopies<F> * 4;
  }
  BERTH_CARD_ONLY CardTable Table() const { return TableOfLane<kDotCopies<F>>(table()); }
  BERTH_CARD_ONLY LocalRows Local() const { return LocalRows(a_, behind_table(), kHalves); }

  // What this warp takes its part of the block's shares by.
  BERTH_CARD_ONLY auto Dots(const LocalRows& local) const {
    const uint32_t warp = ThreadIndex() / kWarp;
    if constexpr (kDirect) {
      auto* const states = reinterpret_cast<DotState*>(shared_ + kShareWords * 4);
      auto* const outputs = reinterpret_cast<DotOutput*>(states + Warps());
      return DirectDots<F>(a_, states + warp, outputs + warp * kDotOutputs, Table());
    } else {
      auto* const units = reinterpret_cast<CardUnit*>(shared_ + kShareWords * 4);
      auto* const barriers = reinterpret_cast<uint64_t*>(units + kDotUnits);
      uint8_t* const stages = behind_table() + a_.local_rows * LocalRowBytes(a_.cols, kHalves);
      return ShareDots<F>(
          a_, words(), units, local, Table(),
          RowStages<F>(a_, stages + warp * a_.depth * StageBytes(a_), barriers + warp * kDotDepth));
    }
  }

 private:
  static constexpr bool kHalves = F::kKind.minima && F::kKind.halves;
  BERTH_CARD_ONLY static uint32_t Warps() { return BlockThreads() / kWarp; }

  const ProductArgs& a_;
  uint8_t* const shared_;
};

// Of few rows: no unit is wide.
template <typename F>
BERTH_KERNEL(kDotThreads, kDotBlocks)
DotKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  const DotMemory<F> memory(a, shared);
  const LocalRows local = memory.Local();
  auto self = memory.Dots(local);
  uint32_t share = TakeShare(a, memory.words());
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(memory.table());
  // The list that down goes by has been there since the launch before began (card_warp.h).
  bool first = a.down && !kDirect;
  if (!first) {
    WaitForLastLaunch();
    NextLaunchMayStart();
  }
  SyncBlock();
  for (; share < GridBlocks(); share = EndShare(a, memory.words())) {
    self.Run(share, 0, first);
    first = false;
  }
  SumShares(a);
}

// Of many rows: wide units (wide_kernel.h), then the others.
template <typename F>
BERTH_KERNEL(kDotThreads, kDotBlocks)
WideKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  const DotMemory<F> memory(a, shared);
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(memory.table());
  WaitForLastLaunch();
  NextLaunchMayStart();
  SyncBlock();
  const uint32_t units = *a.list.wide_count;
  for (uint32_t share = TakeShare(a, memory.words()); share < GridBlocks();
       share = EndShare(a, memory.words())) {
    uint32_t turn = share;
    if (units != 0) {
      turn =
          WideBlock<F>(a, memory.behind_table(), memory.Table(), memory.table()).Run(units, share);
      if constexpr (kHasWidePoints<F>) {
        static_assert(kWidePointTableWords<F> <= F::kTableWords * kCopies);
        FillTableCopies<F, kCopies>(memory.table());
        SyncBlock();
      }
    }
    const LocalRows local = memory.Local();
    memory.Dots(local).Run(turn, units, false);
  }
  SumShares(a);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_KERNEL_H_
