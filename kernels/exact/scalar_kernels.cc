// The exact arithmetic as it is defined (docs/arithmetic.md), in plain C++.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/exact/elementwise.h"
#include "kernels/exact/kernel_sets.h"
#include "kernels/formats/half.h"

namespace berth::kernels {
namespace {

// Eight running sums and the order in which they become one.
struct Accumulators {
  float lane[8] = {};

  float Total() const {
    float four[4];
    for (int i = 0; i < 4; ++i) four[i] = lane[i] + lane[i + 4];
    const float two[2] = {four[0] + four[2], four[1] + four[3]};
    return Canonical(two[0] + two[1]);
  }
};

struct HalfSums {
  int32_t dot, minimum;
};

HalfSums OfHalf(const WeightGroup& group, const int8_t* q, const int16_t* sums, uint32_t half,
                bool minima) {
  int32_t dot = 0;
  for (uint32_t i = 16 * half; i < 16 * half + 16; ++i) dot += group.q[i] * q[i];
  return {dot * group.scale[half], minima ? sums[half] * group.minimum[half] : 0};
}

// `q`, `d` and `sums` are those of the group's columns.
void AddGroup(const GroupKind& kind, const WeightGroup& group, uint32_t blocks, const int8_t* q,
              const float* d, const int16_t* sums, Accumulators* to) {
  for (uint32_t b = 0; b < blocks; ++b) {
    float& sum = to->lane[b];
    const HalfSums low = OfHalf(group, q, sums, 2 * b, kind.minima);
    const HalfSums high = OfHalf(group, q, sums, 2 * b + 1, kind.minima);
    if (kind.two_scales) {
      sum = std::fma(group.d[2 * b] * d[b], static_cast<float>(low.dot), sum);
      sum = std::fma(group.d[2 * b + 1] * d[b], static_cast<float>(high.dot), sum);
    } else {
      sum = std::fma(group.d[2 * b] * d[b], static_cast<float>(low.dot + high.dot), sum);
    }
    if (kind.minima) {
      sum = std::fma(-(group.dmin[b] * d[b]), static_cast<float>(low.minimum + high.minimum), sum);
    }
  }
}

void DotQuantized(const DotCall& call) {
  const Format& format = *call.format;
  const uint32_t group_blocks = WeightGroup::kWeights / format.block_elements;
  WeightGroup group;
  for (uint32_t w = 0; w < call.weight_rows; ++w) {
    Accumulators sums[kMaxDotRows];
    const std::byte* from = call.weights + w * call.row_bytes;
    for (uint32_t col = 0; col < call.cols; col += WeightGroup::kWeights) {
      const uint32_t cols = std::min(call.cols - col, WeightGroup::kWeights);
      format.unpack(from, cols / format.block_elements, &group);
      from += size_t{group_blocks} * format.block_bytes;
      for (uint32_t r = 0; r < call.row_count; ++r) {
        const ActivationRow& row = call.rows[r];
        AddGroup(format.kind, group, cols / 32, row.q + col, row.d + col / 32, row.sums + col / 16,
                 &sums[r]);
      }
    }
    for (uint32_t r = 0; r < call.row_count; ++r) {
      call.out[r * call.out_stride + w] = sums[r].Total();
    }
  }
}

template <float (*kToFloat)(uint16_t)>
void DotFloats(const DotCall& call) {
  for (uint32_t w = 0; w < call.weight_rows; ++w) {
    const std::byte* const from = call.weights + w * call.row_bytes;
    for (uint32_t r = 0; r < call.row_count; ++r) {
      Accumulators sums;
      for (uint32_t i = 0; i < call.cols; ++i) {
        uint16_t bits;
        std::memcpy(&bits, from + 2 * i, sizeof(bits));
        float& sum = sums.lane[i / 32 % 8];
        sum = std::fma(kToFloat(bits), call.rows[r].x[i], sum);
      }
      call.out[r * call.out_stride + w] = sums.Total();
    }
  }
}

DotKernel FindDot(TensorType type) {
  if (type == TensorType::kF16) return &DotFloats<F16ToF32>;
  if (type == TensorType::kBF16) return &DotFloats<Bf16ToF32>;
  return &DotQuantized;
}

}  // namespace

const ExactKernels& ScalarKernels() {
  static constexpr ExactKernels kKernels = {Isa::kScalar, &QuantizeAll, &ActivateAll, &FindDot};
  return kKernels;
}

}  // namespace berth::kernels
