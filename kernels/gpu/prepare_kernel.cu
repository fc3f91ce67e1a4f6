#include <algorithm>

#include "kernels/gpu/prepare_kernel.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/wide_rows.h"
#include "kernels/gpu/work_list.h"

namespace berth::kernels::gpu {
namespace {

constexpr uint32_t kWarps = kListThreads / kWarp;
constexpr uint32_t kMostRowBlocks = 1024;

BERTH_CARD_ONLY void QuantizeRows(const PrepareArgs& a) {
  const uint32_t blocks = (a.cols + 31) / 32;
  const uint32_t warps = (GridBlocks() - 1) * kWarps;
  const uint32_t count = a.rows * blocks;
  for (uint32_t i = (BlockIndex() - 1) * kWarps + ThreadIndex() / kWarp; i < count; i += warps) {
    const uint32_t row = i / blocks, block = i % blocks;
    const uint32_t col = block * 32 + Lane();
    const float x = col < a.cols ? a.x[static_cast<size_t>(row) * a.cols + col] : 0.0f;
    QuantizeBlock(x, a.to, row, block);
  }
}

// A warp takes four blocks of 32 at a time.
BERTH_CARD_ONLY void RoundRows(const PrepareArgs& a) {
  const uint32_t parts = (a.cols + kWideColumns - 1) / kWideColumns;
  const uint32_t warps = (GridBlocks() - 1) * kWarps;
  const uint32_t count = a.rows * parts;
  for (uint32_t i = (BlockIndex() - 1) * kWarps + ThreadIndex() / kWarp; i < count; i += warps) {
    const uint32_t row = i / parts, first = i % parts * kWideColumns;
    const float* const from = a.x + static_cast<size_t>(row) * a.cols;
    float x[kWideColumns / kWarp];
    BERTH_UNROLL
    for (uint32_t block = 0; block < kWideColumns / kWarp; ++block) {
      const uint32_t col = first + block * kWarp + Lane();
      x[block] = col < a.cols ? from[col] : 0.0f;
    }
    BERTH_UNROLL
    for (uint32_t block = 0; block < kWideColumns / kWarp; ++block) {
      StoreWide(a.wide, row, first + block * kWarp + Lane(), x[block]);
    }
  }
}

BERTH_KERNEL(kListThreads, 1) PrepareKernel(const BERTH_GRID_CONSTANT PrepareArgs a) {
  BERTH_SHARED_MEMORY(shared);
  WaitForLastLaunch();
  NextLaunchMayStart();
  if (BlockIndex() == 0) {
    if (ThreadIndex() < 2 && a.turns != nullptr) a.turns[ThreadIndex()] = 0;
    MakeWorkList(a, reinterpret_cast<uint32_t*>(shared));
    return;
  }
  if (a.to.q != nullptr) QuantizeRows(a);
  if (a.wide.at != nullptr) RoundRows(a);
}

}  // namespace

gpuError_t PreparePrepareKernel() {
  return gpuPrepareKernel(PrepareKernel, ListWords(kMostExperts) * sizeof(uint32_t));
}

gpuError_t LaunchPrepare(const PrepareArgs& args, gpuStream_t stream) {
  const bool rounds = args.to.q != nullptr || args.wide.at != nullptr;
  const uint64_t items = rounds ? uint64_t{args.rows} * ((args.cols + 31) / 32) : 1;
  const uint64_t blocks = std::min<uint64_t>((items + kWarps - 1) / kWarps, kMostRowBlocks);
  return gpuLaunch(PrepareKernel, 1 + static_cast<uint32_t>(std::max<uint64_t>(blocks, 1)),
                   kListThreads, WorkListWords(args) * sizeof(uint32_t), stream, true, args);
}

}  // namespace berth::kernels::gpu
