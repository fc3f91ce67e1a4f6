// What the kernels of a grouped call are told: plain data, by value.
#ifndef BERTH_KERNELS_GPU_EXPERT_ARGS_H_
#define BERTH_KERNELS_GPU_EXPERT_ARGS_H_

#include <cstddef>
#include <cstdint>

#include "berth/types.h"
#include "kernels/expert/expert_spec.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/gpu/card_code.h"

namespace berth::kernels::gpu {

// A unit that is to run, as the prepare kernel found it. Units with many pairs come first.
struct CardUnit {
  // Row 0 of each matrix; null: the unit has no address, and its matrices are not read.
  const uint8_t* gate = nullptr;
  const uint8_t* up = nullptr;
  const uint8_t* down = nullptr;
  uint32_t expert = 0;
  uint32_t first = 0;  // place of its first pair in WorkList::pairs
  uint32_t count = 0;  // of its pairs
  uint32_t work = 0;   // of the units before it (UnitWork)
};
// What a tile of a unit with so many pairs takes, about, in parts of its own: weights are taken
// apart once for one pair, two, four or eight, and so again for more.
BERTH_CARD uint32_t UnitWork(uint32_t count) {
  const uint32_t left = count % 8;
  const uint32_t rest = left == 0 ? 0 : left == 1 ? 14 : left == 2 ? 17 : left <= 4 ? 26 : 42;
  return count / 8 * 42 + rest;
}

struct WorkList {
  uint32_t* unit_count = nullptr;  // and the next two: one behind the other
  uint32_t* wide_count = nullptr;  // of these with more pairs than PrepareArgs::wide_over
  uint32_t* all_work = nullptr;    // of these (UnitWork)
  CardUnit* units = nullptr;
  uint32_t* pairs = nullptr;  // row * top_k + k, by place
};

// Where block `block` of 32 columns lies in a row of ByteRows: of eight blocks the even ones come
// before the odd ones. What the four lanes that share a weight row read at once (row_sums.h) then
// lies in different banks of shared memory.
BERTH_CARD uint32_t PlaceApart(uint32_t block) {
  return (block & ~7u) | ((block & 1) << 2) | ((block & 7) >> 1);
}

// Rows in 8 bits (docs/arithmetic.md). Blocks beyond the columns are not set.
struct ByteRows {
  int8_t* q = nullptr;      // [rows][stride], blocks at PlaceApart
  float* d = nullptr;       // [rows][stride / 32]
  float* s = nullptr;       // [rows][stride / 32]: d * (sum of q)
  float* halves = nullptr;  // [rows][stride / 16]: d * (sum of 16 q)
  uint32_t stride = 0;      // columns, a multiple of 256
};

// Rows in BF16, as the wide kernel takes them: the columns of a row in the order of WidePlace
// (wide_rows.h), zero up to a multiple of 128.
struct WideRows {
  uint16_t* at = nullptr;  // [rows][stride]
  uint32_t stride = 0;     // a multiple of 128
};

inline constexpr uint32_t kNoneWide = 0xffffffff;
// In place of a failed unit: blocks waited for each other too long.
inline constexpr uint32_t kCardGaveUp = 0xffffffff;

// Words of shared memory that blocks take shares with (shares.h).
inline constexpr uint32_t kShareWords = 4;

struct PrepareArgs {
  WorkList list;
  uint32_t wide_over = kNoneWide;
  uint32_t rows = 0, top_k = 0;
  uint32_t pair_count = 0;  // rows * top_k
  uint32_t experts = 0;
  // A wave, or ids.
  const WaveUnit* units = nullptr;
  uint32_t unit_count = 0;
  const uint32_t* pairs = nullptr;
  const int32_t* ids = nullptr;
  UnitIndex first_unit = 0;
  const std::byte* const* table = nullptr;
  uint64_t gate_offset = 0, up_offset = 0, down_offset = 0;
  uint32_t* failed_unit = nullptr;
  // Rows to put into 8 bits; q null: none.
  const float* x = nullptr;
  uint32_t cols = 0;
  ByteRows to;
  WideRows wide;              // at null: none
  uint32_t* turns = nullptr;  // ProductArgs::turns, to be set to zero
};

// Products of one or two matrices per unit with all of its rows, and what becomes of them.
struct ProductArgs {
  WorkList list;
  bool down = false;      // else gate and up, or up alone
  uint32_t matrices = 1;  // 2: gate and up
  TensorType types[2] = {};
  uint64_t row_bytes[2] = {};
  uint32_t rows = 0;  // of a matrix
  uint32_t cols = 0;
  const float* bias[2] = {};   // [experts][rows]; null: none
  const float* scale[2] = {};  // [experts]; null: none
  // Inputs: of gate and up a pair's row of x, of down what lies at its place.
  const float* x = nullptr;  // [rows][cols]
  ByteRows bytes;
  WideRows wide;
  uint32_t wide_over = kNoneWide;  // units with more pairs than this run wide
  uint32_t x_rows = 0;             // of the call
  uint32_t top_k = 0;
  uint32_t most_units = 0;  // that the call may have
  uint32_t experts = 0;
  const float* weights = nullptr;  // [x_rows][top_k]
  bool weights_before = false;

  // Gate and up: the input of down, by place.
  Activation activation = Activation::kSiluGate;
  float alpha = 0, limit = 0;
  float* h = nullptr;             // [pairs][rows]
  ByteRows h_bytes;               // q null: down takes h as it is
  uint32_t* h_arrived = nullptr;  // [units][blocks of 32]: zero between calls
  WideRows h_wide;                // instead of both, for units with more pairs than h_wide_over
  uint32_t h_wide_over = kNoneWide;

  // Down.
  float* partials = nullptr;  // [pairs][rows]
  float* y = nullptr;         // [x_rows][rows]
  const int32_t* ids = nullptr;
  uint32_t* turns = nullptr;  // shares.h: shares taken, shares ended; null: no sums
  uint32_t* failed_unit = nullptr;

  // How shared memory is cut; tuned kernels only.
  uint32_t row_step = 1;    // 2: rows of the two parities of an address come one after the other
  uint32_t row_stride = 0;  // from row to row in a stage, where rows are copied one by one; or 0
  uint32_t part_bytes = 0;  // of half a stage; dots: 0 where rows are copied one by one
  uint32_t depth = 1;       // stages of a warp
  uint32_t passes = 1;      // of eight rows, that a Radeon's tile has
  uint32_t chunk_cols = 0;  // dots: columns of eight rows that a stage has
  uint32_t local_rows = 0;  // dots: inputs in 8 bits that a block keeps; those of down it makes
  uint32_t warps = 0, blocks = 0;  // of a block, of a multiprocessor
  uint32_t shared_bytes = 0;
  uint32_t wide_pairs = 0;  // pairs of a unit at a time, a multiple of 16

  uint32_t* flags = nullptr;  // call_kernel.h, with a third of turns: blocks that left
};

// A call in one launch (call_kernel.h).
struct CallArgs {
  PrepareArgs prepare;  // ids, pointer table, offsets
  // Their lists are not used.
  ProductArgs gate_up, down;
  // How shared memory is cut, besides what each says of its stages and inputs.
  uint32_t input_bytes = 0;
  uint32_t stage_bytes = 0;  // of a warp
  uint32_t warps = 0;
  uint32_t shared_bytes = 0;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_EXPERT_ARGS_H_
