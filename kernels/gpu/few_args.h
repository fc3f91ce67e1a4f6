// What the kernels for few pairs are told (few_kernel.h): plain data, by value.
#ifndef BERTH_KERNELS_GPU_FEW_ARGS_H_
#define BERTH_KERNELS_GPU_FEW_ARGS_H_

#include <cstdint>

#include "kernels/gpu/card_code.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

// A Radeon reads weights where they lie.
inline constexpr bool kHaveFewKernels = !kDirect;
inline constexpr uint32_t kFewWarps = 16;
inline constexpr uint32_t kFewThreads = kFewWarps * 32;
// Of a multiprocessor: one of a launch, and one of the next that gets ready meanwhile.
inline constexpr uint32_t kFewBlocks = 2;
inline constexpr uint32_t kFewMostPairs = 128;  // of a call; a thread a pair makes the list
inline constexpr uint32_t kFewMostRows = 16;    // of x
inline constexpr uint32_t kFewUnitPairs = 8;    // of a unit of the list, at most
inline constexpr uint32_t kFewMostDepth = 4;    // stages of a warp
inline constexpr uint32_t kFewTableBytes = 32 << 10;

// A block's shared memory: offsets in bytes, multiples of 16. At 0: kFewWords words.
struct FewPlaces {
  uint32_t units = 0;    // CardUnit [pairs of the call]
  uint32_t pairs = 0;    // WorkList::pairs
  uint32_t scratch = 0;  // of who makes the list, then one word a row or pair
  uint32_t table = 0;    // of the format
  uint32_t local = 0;    // rows in 8 bits (local_rows.h)
  uint32_t sums = 0;     // down: partials [pairs of the call][rows of the block]
  uint32_t stages = 0;
  uint32_t bytes = 0;  // of it all
};
// Units, units with many pairs, pairs (as WorkList has them); units of too many; and
// where shares or windows begin and end.
enum FewWord : uint32_t { kWordUnits, kWordWide, kWordPairs, kWordLong, kWordBegin, kWordEnd };
inline constexpr uint32_t kFewWords = 8;

struct FewArgs {
  PrepareArgs source;  // which units; lists nothing in the card's memory
  ProductArgs product;
  FewPlaces at;
  uint32_t unit_pairs = 0;  // of a unit of the list, at most
  uint32_t tiles = 0;       // gate and up: of eight rows, of a unit; down: of four rows
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_ARGS_H_
