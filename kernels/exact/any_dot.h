// The dot products of every quantized format by way of its plain code (Format::unpack), for
// whatever instruction set takes a group's integers together.
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_ANY_DOT_H_
#define BERTH_KERNELS_EXACT_ANY_DOT_H_

#include "kernels/exact/avx2_frame.h"

namespace berth::kernels {
namespace {

// A format of avx2_frame.h whose Group holds the group as `weights`; Split brings what it says of
// scales and minima into the vectors that AddGroup reads.
template <typename Format>
void DotUnpacked(const DotCall& call) {
  const uint32_t group_blocks = WeightGroup::kWeights / call.format->block_elements;
  typename Format::Group group;
  memset(&group, 0, sizeof(group));
  for (uint32_t w = 0; w < call.weight_rows; ++w) {
    const std::byte* from = call.weights + w * call.row_bytes;
    __m256 sums[kMaxDotRows];
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    for (uint32_t col = 0; col < call.cols; col += 256) {
      const uint32_t cols = call.cols - col < 256 ? call.cols - col : 256;
      call.format->unpack(from, cols / call.format->block_elements, &group.weights);
      from += size_t{group_blocks} * call.format->block_bytes;
      Format::Split(&group);
      const __m256 mask = LaneMask(cols / 32);
      for (uint32_t r = 0; r < call.row_count; ++r) {
        sums[r] =
            _mm256_blendv_ps(sums[r], AddGroup<Format>(group, call.rows[r], col, sums[r]), mask);
      }
    }
    for (uint32_t r = 0; r < call.row_count; ++r) {
      call.out[r * call.out_stride + w] = Total(sums[r]);
    }
  }
}

// Any<minima, two scales>.
template <template <Minima, bool> typename Any>
void DotAnyKind(const DotCall& call) {
  const GroupKind& kind = call.format->kind;
  if (kind.two_scales) return DotUnpacked<Any<Minima::kNone, true>>(call);
  if (!kind.minima) return DotUnpacked<Any<Minima::kNone, false>>(call);
  kind.halves ? DotUnpacked<Any<Minima::kHalves, false>>(call)
              : DotUnpacked<Any<Minima::kBlocks, false>>(call);
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_ANY_DOT_H_
