// WeightGroup: up to 256 weights of any block-quantized format, taken apart into the integers and
// scales that they are made of. Every format says once, here, what its bytes mean; decoding to
// floats and the exact arithmetic (docs/arithmetic.md) both start from it.
//
//   weight i = d[i / 16] * scale[i / 16] * q[i]  -  dmin[i / 32] * minimum[i / 16]
#ifndef BERTH_KERNELS_FORMATS_WEIGHT_GROUP_H_
#define BERTH_KERNELS_FORMATS_WEIGHT_GROUP_H_

#include <cstdint>

namespace berth::kernels {

struct WeightGroup {
  static constexpr uint32_t kWeights = 256;
  static constexpr uint32_t kBlocks = 8;  // of 32 weights

  alignas(64) int8_t q[kWeights];
  // Integer sub-scales and minima; where a format has none, scale is 1 and minimum is not set.
  alignas(32) int16_t scale[2 * kBlocks];
  alignas(32) int16_t minimum[2 * kBlocks];
  // Float scales; d[2 b] and d[2 b + 1] differ in formats with two scales per 32 weights only.
  alignas(64) float d[2 * kBlocks];
  alignas(32) float dmin[kBlocks];
};

// What of a group means anything in a format, so that kernels need not look at the rest.
struct GroupKind {
  bool scales = false;      // integer sub-scales other than 1
  bool halves = false;      // the two halves of 32 weights have integers of their own
  bool minima = false;      // dmin and minimum
  bool two_scales = false;  // d[2 b] != d[2 b + 1]
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_WEIGHT_GROUP_H_
