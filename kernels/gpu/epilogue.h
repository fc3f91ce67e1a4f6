// What becomes of products: siblings, activation and the next matrix's input in 8 bits, partials.
// Where the next kernel does not put its input into 8 bits itself, warps that work on one unit
// count their arrivals, and the last one does it, so nothing depends on the order in which they
// come. Counters are zero again afterwards.
#ifndef BERTH_KERNELS_GPU_EPILOGUE_H_
#define BERTH_KERNELS_GPU_EPILOGUE_H_

#include "kernels/gpu/card_elementwise.h"
#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/wide_rows.h"

namespace berth::kernels::gpu {

BERTH_CARD_ONLY bool DownIsWide(const ProductArgs& a, const CardUnit& unit) {
  return !kDirect && unit.count > a.h_wide_over;
}

BERTH_CARD_ONLY float WithSiblings(const ProductArgs& a, uint32_t matrix, uint32_t expert,
                                   uint32_t row, float weight, float product) {
  // Chosen, not indexed: arguments that are indexed at run time lie in memory on a Radeon, all of
  // them, and so do the pointers that every load begins with.
  const float* const scales = matrix == 0 ? a.scale[0] : a.scale[1];
  const float* const biases = matrix == 0 ? a.bias[0] : a.bias[1];
  const float scale = scales == nullptr ? 1.0f : scales[expert];
  const float bias = biases == nullptr ? 0.0f : biases[static_cast<size_t>(expert) * a.rows + row];
  return ApplySiblings(product, weight, scale, bias);
}

// One output of gate and up, behind the activation. `wide`: down takes the pair's unit wide.
BERTH_CARD_ONLY void StoreHiddenValue(const ProductArgs& a, uint32_t place, uint32_t row, float h,
                                      bool wide) {
  if (kDirect || !wide) {
    a.h[static_cast<size_t>(place) * a.rows + row] = h;
    return;
  }
  StoreWide(a.h_wide, place, row, h);
  if (row + 1 == a.rows) ClearBehind(a.h_wide, place, a.rows);
}

// Products of gate and up (of up twice, where there is no gate) of one output and pair. `weight`:
// of the input; `wide`: down takes the pair's unit wide.
BERTH_CARD_ONLY void StoreWeighted(const ProductArgs& a, uint32_t expert, uint32_t place,
                                   uint32_t row, float weight, float gate, float up, bool wide) {
  const float u = WithSiblings(a, a.matrices - 1, expert, row, weight, up);
  const float g = a.matrices == 2 ? WithSiblings(a, 0, expert, row, weight, gate) : u;
  StoreHiddenValue(a, place, row, Activate(a.activation, a.alpha, a.limit, g, u), wide);
}
// `pairs`: the list's.
BERTH_CARD_ONLY void StoreActivation(const ProductArgs& a, const uint32_t* pairs, uint32_t expert,
                                     uint32_t place, uint32_t row, float gate, float up,
                                     bool wide) {
  const float weight = a.weights_before ? LoadShared(a.weights + pairs[place]) : 1.0f;
  StoreWeighted(a, expert, place, row, weight, gate, up, wide);
}

// What was stored.
BERTH_CARD_ONLY float StorePartial(const ProductArgs& a, uint32_t expert, uint32_t pair,
                                   uint32_t row, float product) {
  const float partial = WithSiblings(a, 0, expert, row, 1.0f, product);
  a.partials[static_cast<size_t>(pair) * a.rows + row] = partial;
  return partial;
}

// Counts the arrival of a tile of outputs in a block of 32; whether it was the last of the unit's.
// `step`: so many tiles share rows, a tile having every so many.
BERTH_CARD_ONLY bool LastOfBlock(const ProductArgs& a, uint32_t unit_at, uint32_t row,
                                 uint32_t tile_rows, uint32_t step) {
  const uint32_t block = row / 32;
  const uint32_t rows = a.rows - block * 32 < 32 ? a.rows - block * 32 : 32;
  uint32_t* const arrived = a.h_arrived + unit_at * ((a.rows + 31) / 32) + block;
  const uint32_t tiles = (rows + tile_rows * step - 1) / (tile_rows * step) * step;
  const bool last = AtomicAdd(arrived, 1) + 1 == tiles;
  if (last) *arrived = 0;
  return last;
}

// One block of 32 columns of a unit's pairs, every `step`-th from `first` on, by one warp.
BERTH_CARD_ONLY void QuantizeOutputs(const ProductArgs& a, const CardUnit& unit, uint32_t block,
                                     uint32_t first, uint32_t step) {
  // Loads under way. Of several addresses clang 15 makes multiplications that a Radeon gets wrong.
  constexpr uint32_t kAtOnce = kDirect ? 1 : 4;
  const bool there = block * 32 + Lane() < a.rows;
  const float* h = a.h + static_cast<size_t>(unit.first + first) * a.rows + block * 32 + Lane();
  const size_t apart = static_cast<size_t>(step) * a.rows;
  for (uint32_t pair = first; pair < unit.count; pair += kAtOnce * step) {
    float values[kAtOnce];
    BERTH_UNROLL
    for (uint32_t i = 0; i < kAtOnce; ++i, h += apart) {
      values[i] = there && pair + i * step < unit.count ? LoadShared(h) : 0.0f;
    }
    BERTH_UNROLL
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      const uint32_t of = pair + i * step;
      if (of < unit.count) QuantizeBlock(values[i], a.h_bytes, unit.first + of, block);
    }
  }
}

// The warp has stored `tile_rows` outputs of gate and up, every `step`-th from `row` on or the next
// of these, for all pairs of the unit.
BERTH_CARD_ONLY void OutputsStored(const ProductArgs& a, uint32_t unit_at, const CardUnit& unit,
                                   uint32_t row, uint32_t tile_rows, uint32_t step = 1) {
  if (a.h_bytes.q == nullptr || DownIsWide(a, unit)) return;
  FenceOfEach();
  SyncWarp();
  uint32_t last = 0;
  if (Lane() == 0) last = LastOfBlock(a, unit_at, row, tile_rows, step) ? 1 : 0;
  if (FromLane(last, 0) == 0) return;
  FenceOfEach();
  QuantizeOutputs(a, unit, row / 32, 0, 1);
}

// The whole block has. `word`: of shared memory, anybody's but not in use now.
BERTH_CARD_ONLY void OutputsStoredByBlock(const ProductArgs& a, uint32_t unit_at,
                                          const CardUnit& unit, uint32_t row, uint32_t tile_rows,
                                          uint32_t* word) {
  if (a.h_bytes.q == nullptr || DownIsWide(a, unit)) return;
  FenceOfEach();
  SyncBlock();
  if (ThreadIndex() == 0) *word = LastOfBlock(a, unit_at, row, tile_rows, 1) ? 1 : 0;
  SyncBlock();
  if (*word == 0) return;
  FenceOfEach();
  QuantizeOutputs(a, unit, row / 32, ThreadIndex() / kWarp, BlockThreads() / kWarp);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_EPILOGUE_H_
