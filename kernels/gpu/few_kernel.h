// The tuned kernels of a format for calls of few pairs, two launches: gate and up, then down.
//
// With few pairs what counts is the way to the first weights and the way from the last ones. So a
// block lists the units by itself (few_list.h), asks for its first weights, puts the inputs that it
// needs into 8 bits meanwhile, and fits twice on a multiprocessor: blocks of down get ready, and
// have their first weights, while gate and up still run, and the next call's blocks while down
// does. A block of down has rows of its own and takes them of every unit, so nobody waits for
// others to add up what they made.
#ifndef BERTH_KERNELS_GPU_FEW_KERNEL_H_
#define BERTH_KERNELS_GPU_FEW_KERNEL_H_

#include "kernels/gpu/few_down.h"
#include "kernels/gpu/few_gate_up.h"

namespace berth::kernels::gpu {

template <typename F>
BERTH_KERNEL(kFewThreads, kFewBlocks)
FewGateUpKernel(const BERTH_GRID_CONSTANT FewArgs a) {
  BERTH_SHARED_MEMORY(shared);
  FewGateUp<F> self(a, shared);
  self.FillTable();
  WaitForLastLaunch();
  NextLaunchMayStart();
  self.List();
  self.Run();
}

// What the launch before the last made is here from the start (card_warp.h): router ids, tables.
template <typename F>
BERTH_KERNEL(kFewThreads, kFewBlocks)
FewDownKernel(const BERTH_GRID_CONSTANT FewArgs a) {
  BERTH_SHARED_MEMORY(shared);
  FewDown<F> self(a, shared);
  self.FillTable();
  self.List();
  self.Run();
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_KERNEL_H_
