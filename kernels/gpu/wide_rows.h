// Activations of wide units: BF16, in the order in which the lanes of a warp take them.
#ifndef BERTH_KERNELS_GPU_WIDE_ROWS_H_
#define BERTH_KERNELS_GPU_WIDE_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/card_code.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

// Of a step: a block of 32 for each of the four lanes that share a row.
inline constexpr uint32_t kWideColumns = 128;

// Where a column lies in a row. A matrix instruction takes four columns of each of the four blocks:
// their first two (four bytes of each), then the other two.
BERTH_CARD uint32_t WidePlace(uint32_t col) {
  return col / kWideColumns * kWideColumns + col % 32 / 2 * 8 + col % kWideColumns / 32 * 2 +
         col % 2;
}

BERTH_CARD void StoreWide(const WideRows& rows, uint32_t row, uint32_t col, float value) {
  rows.at[static_cast<size_t>(row) * rows.stride + WidePlace(col)] =
      static_cast<uint16_t>(Bfloat16Pair(value, 0.0f));
}

// Four columns in a row, the first a multiple of 4.
BERTH_CARD void StoreWideFour(const WideRows& rows, uint32_t row, uint32_t col,
                              const float (&values)[4]) {
  uint16_t* const to = rows.at + static_cast<size_t>(row) * rows.stride;
  auto* const first = reinterpret_cast<uint32_t*>(to + WidePlace(col));
  auto* const second = reinterpret_cast<uint32_t*>(to + WidePlace(col + 2));
  *first = Bfloat16Pair(values[0], values[1]);
  *second = Bfloat16Pair(values[2], values[3]);
}

// The rest of a row behind its last column.
BERTH_CARD void ClearBehind(const WideRows& rows, uint32_t row, uint32_t cols) {
  for (uint32_t col = cols; col % kWideColumns != 0; ++col) StoreWide(rows, row, col, 0.0f);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_ROWS_H_
