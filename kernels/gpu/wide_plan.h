// How the wide path of a tuned kernel cuts shared memory.
#ifndef BERTH_KERNELS_GPU_WIDE_PLAN_H_
#define BERTH_KERNELS_GPU_WIDE_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/dot_plan.h"

namespace berth::kernels::gpu {

// A card without matrix instructions takes units of many pairs as those of few, in chunks.
inline constexpr bool kHasWide = !kDirect;

inline constexpr uint32_t kWideMostPairs = 112;  // of a unit at a time: what registers hold
inline constexpr uint32_t kWideFewestPairs = 16;
// Where no unit has more pairs than this, there are registers and room to spare (WideBlock).
inline constexpr uint32_t kWideFewPairs = 32;
inline constexpr uint32_t kWideWarpRows = 16;  // of a warp: weight rows of a matrix instruction
inline constexpr uint32_t kWideWeightColumns = 256;  // of weights in a stage

// How a job's weight rows come: not at all where there is no job or its unit has no address; moved
// to a multiple of 16 where decoders cannot read them as they lie.
enum WideWeightRows : uint32_t { kNoWeightRows, kWeightRowsAsTheyLie, kWeightRowsMoved };

// What a block works on: a tile of a unit with some of its pairs.
struct alignas(16) WideJob {
  uint32_t tile;                    // its number, of so many
  uint32_t tile_count, unit_tiles;  // of all wide units, of one
  uint32_t pass, passes;
  uint32_t expert, first, count;                   // as CardUnit
  uint32_t pair, pairs;                            // which of the unit's; no pairs: there is no job
  uint32_t tiles;                                  // of eight pairs, an even number
  uint32_t row;                                    // of the tile
  uint32_t weights;                                // WideWeightRows
  uint32_t numbers[kWideMostPairs];                // of these pairs, in the call
  uint32_t inputs[kWideMostPairs];                 // rows of activations, by pieces of 16 bytes
  const uint8_t* rows[kDotWarps * kWideWarpRows];  // weight rows, by warp
};
inline constexpr uint32_t kWideJobs = 4;  // the one before, this one and the next two

// Bytes of a weight row in a stage, an odd number of pieces of 16: up to 15 in front.
constexpr uint32_t WideSlotBytes(uint32_t block_bytes, uint32_t block_weights) {
  return (((kWideWeightColumns / block_weights * block_bytes + 30) / 16) | 1) * 16;
}
// Activations: 16 pieces of 16 bytes of a row in a stage. The same piece of eight rows is what a
// matrix instruction reads at once, 128 bytes; the next piece's lie 16 bytes more behind, so that
// pieces of a row lie in different banks. A group of eight rows has its stages one behind the
// other: everything is a constant apart, however many groups there are.
inline constexpr uint32_t kWidePieceBytes = 8 * 16 + 16;
inline constexpr uint32_t kWideStageBytes = 16 * kWidePieceBytes;
inline constexpr uint32_t kWideStages = 2, kWideFewStages = 4;
template <uint32_t kStages>
BERTH_CARD constexpr uint32_t WideInputAt(uint32_t stage, uint32_t piece, uint32_t pair) {
  return (pair / 8 * kStages + stage) * kWideStageBytes + piece * kWidePieceBytes + pair % 8 * 16;
}
BERTH_CARD constexpr uint32_t WideInputBytes(uint32_t pairs) {
  return (pairs + 7) / 8 * kWideStages * kWideStageBytes;
}
// Whether there is room for kWideFewStages of kWideFewPairs in these.
BERTH_CARD constexpr bool WideFewFits(uint32_t pairs) {
  return pairs * kWideStages >= kWideFewPairs * kWideFewStages;
}
constexpr size_t WideSharedBytes(uint32_t slot_bytes, uint32_t warps, uint32_t pairs) {
  return kWideJobs * sizeof(WideJob) + size_t{2} * warps * kWideWarpRows * slot_bytes +
         WideInputBytes(pairs);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_PLAN_H_
