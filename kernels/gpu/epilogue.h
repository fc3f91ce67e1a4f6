// What becomes of products: siblings, activation and the next matrix's input in 8 bits; partials
// and their weighted sum. Warps that work on one unit or row count their arrivals, and the last one
// does what needs all of them, so nothing depends on the order in which they come. Counters are
// zero again afterwards.
#ifndef BERTH_KERNELS_GPU_EPILOGUE_H_
#define BERTH_KERNELS_GPU_EPILOGUE_H_

#include "kernels/gpu/card_elementwise.h"
#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/quantize.h"
#include "kernels/gpu/wide_rows.h"

namespace berth::kernels::gpu {

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

// Products of gate and up (of up twice, where there is no gate) of one output and pair.
BERTH_CARD_ONLY void StoreActivation(const ProductArgs& a, const CardUnit& unit, uint32_t place,
                                     uint32_t row, float gate, float up) {
  const float weight = a.weights_before ? a.weights[a.list.pairs[place]] : 1.0f;
  const float u = WithSiblings(a, a.matrices - 1, unit.expert, row, weight, up);
  const float g = a.matrices == 2 ? WithSiblings(a, 0, unit.expert, row, weight, gate) : u;
  const float h = Activate(a.activation, a.alpha, a.limit, g, u);
  if (kDirect || unit.count <= a.h_wide_over) {
    a.h[static_cast<size_t>(place) * a.rows + row] = h;
    return;
  }
  StoreWide(a.h_wide, place, row, h);
  if (row + 1 != a.rows) return;
  for (uint32_t col = a.rows; col % kWideColumns != 0; ++col) StoreWide(a.h_wide, place, col, 0.0f);
}

BERTH_CARD_ONLY void StorePartial(const ProductArgs& a, const CardUnit& unit, uint32_t pair,
                                  uint32_t row, float product) {
  a.partials[static_cast<size_t>(pair) * a.rows + row] =
      WithSiblings(a, 0, unit.expert, row, 1.0f, product);
}

// Counts the arrival of a tile of outputs in a block of 32; whether it was the last of the unit's.
BERTH_CARD_ONLY bool LastOfBlock(const ProductArgs& a, uint32_t unit_at, uint32_t row,
                                 uint32_t tile_rows) {
  const uint32_t block = row / 32;
  const uint32_t rows = a.rows - block * 32 < 32 ? a.rows - block * 32 : 32;
  uint32_t* const arrived = a.h_arrived + unit_at * ((a.rows + 31) / 32) + block;
  const bool last = AtomicAdd(arrived, 1) + 1 == (rows + tile_rows - 1) / tile_rows;
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

// The warp has stored outputs [row, row + tile_rows) of gate and up for all pairs of the unit.
BERTH_CARD_ONLY void OutputsStored(const ProductArgs& a, uint32_t unit_at, const CardUnit& unit,
                                   uint32_t row, uint32_t tile_rows) {
  if (a.h_bytes.q == nullptr || (!kDirect && unit.count > a.h_wide_over)) return;
  Fence();
  SyncWarp();
  uint32_t last = 0;
  if (Lane() == 0) last = LastOfBlock(a, unit_at, row, tile_rows) ? 1 : 0;
  if (FromLane(last, 0) == 0) return;
  Fence();
  QuantizeOutputs(a, unit, row / 32, 0, 1);
}

// The whole block has. `word`: of shared memory, anybody's but not in use now.
BERTH_CARD_ONLY void OutputsStoredByBlock(const ProductArgs& a, uint32_t unit_at,
                                          const CardUnit& unit, uint32_t row, uint32_t tile_rows,
                                          uint32_t* word) {
  if (a.h_bytes.q == nullptr || (!kDirect && unit.count > a.h_wide_over)) return;
  Fence();
  SyncBlock();
  if (ThreadIndex() == 0) *word = LastOfBlock(a, unit_at, row, tile_rows) ? 1 : 0;
  SyncBlock();
  if (*word == 0) return;
  Fence();
  QuantizeOutputs(a, unit, row / 32, ThreadIndex() / kWarp, BlockThreads() / kWarp);
}

// y[row][col]: products and sums rounded one by one, k ascending.
BERTH_CARD_ONLY void SumRow(const ProductArgs& a, uint32_t row, uint32_t col) {
  const uint32_t first = row * a.top_k;
  const float* partial = a.partials + static_cast<size_t>(first) * a.rows + col;
  float sum = 0.0f;
  for (uint32_t k = 0; k < a.top_k; ++k, partial += a.rows) {
    const int32_t id = a.ids[first + k];
    if (id < 0 || static_cast<uint32_t>(id) >= a.experts) continue;
    const float weight = a.weights_before ? 1.0f : a.weights[first + k];
    sum = Add(sum, Mul(weight, LoadShared(partial)));
  }
  a.y[static_cast<size_t>(row) * a.rows + col] = Canonical(sum);
}

// The same for columns [col, end) of a row, by the whole warp.
BERTH_CARD_ONLY void SumRowByWarp(const ProductArgs& a, uint32_t row, uint32_t col, uint32_t end) {
  constexpr uint32_t kCols = 4;    // of a lane
  constexpr uint32_t kAtOnce = 4;  // of k
  for (; col < end; col += kCols * kWarp) {
    float sums[kCols] = {};
    for (uint32_t first = 0; first < a.top_k; first += kAtOnce) {
      bool there[kAtOnce];
      float weights[kAtOnce], values[kAtOnce][kCols];
      BERTH_UNROLL
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        const uint32_t pair = row * a.top_k + first + k;
        const int32_t id = first + k < a.top_k ? a.ids[pair] : kNoExpert;
        there[k] = id >= 0 && static_cast<uint32_t>(id) < a.experts;
        weights[k] = !there[k] || a.weights_before ? 1.0f : a.weights[pair];
        BERTH_UNROLL
        for (uint32_t i = 0; i < kCols; ++i) {
          const uint32_t at = col + i * kWarp + Lane();
          values[k][i] = there[k] && at < end
                             ? LoadShared(a.partials + static_cast<size_t>(pair) * a.rows + at)
                             : 0.0f;
        }
      }
      BERTH_UNROLL
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        BERTH_UNROLL
        for (uint32_t i = 0; i < kCols; ++i) {
          if (there[k]) sums[i] = Add(sums[i], Mul(weights[k], values[k][i]));
        }
      }
    }
    BERTH_UNROLL
    for (uint32_t i = 0; i < kCols; ++i) {
      const uint32_t at = col + i * kWarp + Lane();
      if (at < end) a.y[static_cast<size_t>(row) * a.rows + at] = Canonical(sums[i]);
    }
  }
}

// The warp has stored partials [row, row + stored) of `count` pairs, at most 32; lane n knows pair
// n. What is counted is tiles of tile_rows of them, until all of a row's that lie in the columns
// that are summed together have come.
BERTH_CARD_ONLY void PartialsStored(const ProductArgs& a, uint32_t pair, uint32_t count,
                                    uint32_t row, uint32_t stored, uint32_t tile_rows) {
  if (a.y == nullptr) return;
  Fence();
  SyncWarp();
  const bool ranged = !kDirect && a.y_cols != 0;
  const uint32_t width = ranged ? a.y_cols : tile_rows;
  const uint32_t begin = row / width * width;
  const uint32_t end = begin + width < a.rows ? begin + width : a.rows;
  uint32_t last = 0;
  if (Lane() < count) {
    const uint32_t ranges = (a.rows + width - 1) / width;
    const uint32_t tiles = (end - begin + tile_rows - 1) / tile_rows;
    const uint32_t here = row + stored < end ? stored : end - row;
    const uint32_t come = (here + tile_rows - 1) / tile_rows;
    uint32_t* const arrived = a.y_arrived + pair / a.top_k * ranges + row / width;
    last = AtomicAdd(arrived, come) + come == a.list.row_pairs[pair / a.top_k] * tiles ? 1 : 0;
    if (last != 0) *arrived = 0;
  }
  Fence();
  if (ranged) {
    for (uint32_t n = 0; n < count; ++n) {
      if (FromLane(last, n) != 0) SumRowByWarp(a, FromLane(pair, n) / a.top_k, begin, end);
    }
    return;
  }
  constexpr uint32_t kCols = 8;  // lanes per pair
  for (uint32_t n = Lane() / kCols; n - Lane() / kCols < count; n += kWarp / kCols) {
    const bool sum = FromLane(last, n) != 0;
    const uint32_t of = FromLane(pair, n) / a.top_k;
    if (!sum || n >= count) continue;
    for (uint32_t col = row + Lane() % kCols; col < end; col += kCols) SumRow(a, of, col);
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_EPILOGUE_H_
