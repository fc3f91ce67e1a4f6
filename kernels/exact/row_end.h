// The end of a row whose columns are no multiple of 256, for the frames that take 256 at a time.
//
// To be included by files that are compiled for wide instruction sets and by nobody else;
// everything is internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_ROW_END_H_
#define BERTH_KERNELS_EXACT_ROW_END_H_

#include <stdint.h>
#include <string.h>

#include "kernels/exact/exact_kernels.h"

namespace berth::kernels {
namespace {

enum class RowEnd {
  kNone,
  kHalf,     // 128 columns: half of what is done at a time
  kShort,    // a row of less than 256 columns: from a padded copy
  kOverlap,  // once more the last 256 columns, without those that have been: no copy, which costs
             // more than the work
};

inline RowEnd RowEndOf(uint32_t cols) {
  if (cols % 256 == 0) return RowEnd::kNone;
  if (cols % 256 == 128) return RowEnd::kHalf;
  return cols < 256 ? RowEnd::kShort : RowEnd::kOverlap;
}

// Activations of the last 256 columns, zero where they have been. Block b of them is block
// (b + left) % 8 of the arithmetic, `left` being the blocks of 32 that were left.
struct OverlapColumns {
  alignas(64) int8_t q[256] = {};
  float d[8] = {};
  int16_t sums[16] = {};
  float s[8] = {};

  OverlapColumns(const ActivationRow& row, uint32_t cols) {
    const uint32_t left = cols % 256, at = cols - left;
    memcpy(q + 256 - left, row.q + at, left);
    memcpy(d + 8 - left / 32, row.d + at / 32, left / 32 * sizeof(float));
    memcpy(s + 8 - left / 32, row.s + at / 32, left / 32 * sizeof(float));
    memcpy(sums + 16 - left / 16, row.sums + at / 16, left / 16 * sizeof(int16_t));
  }
  ActivationRow Row() const { return {nullptr, q, d, sums, s}; }
};

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_ROW_END_H_
