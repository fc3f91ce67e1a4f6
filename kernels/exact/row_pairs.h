// Weight rows two at a time against activations that were brought into a format's order once for
// all of them.
//
// To be included by files that are compiled for one instruction set; everything is internal to them
// (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_ROW_PAIRS_H_
#define BERTH_KERNELS_EXACT_ROW_PAIRS_H_

#include "kernels/exact/exact_kernels.h"

namespace berth::kernels {
namespace {

// Arranged: a row's activations of 256 columns, in order. kArrange fills those of a row; Pair goes
// through a pair of weight rows: Dot<n> with n activation rows or, for kMaxDotRows, with as many as
// there are. Rows that there is no room for at once go in turns, and rows too long for even one are
// left to the kernel that kOther has for the type.
template <typename Arranged, typename Pair,
          void (*kArrange)(const ActivationRow& row, uint32_t cols, Arranged* to),
          DotKernel (*kOther)(TensorType type)>
void DotInRowPairs(const DotCall& call) {
  constexpr uint32_t kMaxGroups = 192;
  const uint32_t groups = (call.cols + 255) / 256;
  if (groups > kMaxGroups) return kOther(call.format->type)(call);
  const uint32_t at_once = kMaxGroups / groups;
  Arranged rows[kMaxGroups];
  for (uint32_t first = 0; first < call.row_count; first += at_once) {
    const uint32_t left = call.row_count - first;
    const uint32_t count = left < at_once ? left : at_once;
    for (uint32_t r = 0; r < count; ++r) {
      kArrange(call.rows[first + r], call.cols, rows + r * groups);
    }
    Pair pair(call, rows, count);
    for (uint32_t w = 0; w < call.weight_rows; w += 2) {
      const bool alone = w + 1 == call.weight_rows;
      // Sums of a number of rows that is known to the compiler stay in registers. Most units have
      // few.
      switch (count) {
        case 1:
          pair.template Dot<1>(w, alone, first);
          break;
        case 2:
          pair.template Dot<2>(w, alone, first);
          break;
        case 3:
          pair.template Dot<3>(w, alone, first);
          break;
        case 4:
          pair.template Dot<4>(w, alone, first);
          break;
        default:
          pair.template Dot<kMaxDotRows>(w, alone, first);
      }
    }
  }
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_ROW_PAIRS_H_
