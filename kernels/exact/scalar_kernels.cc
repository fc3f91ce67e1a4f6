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

int32_t DotHalf(const WeightGroup& group, const int8_t* q, uint32_t half) {
  int32_t dot = 0;
  for (uint32_t i = 16 * half; i < 16 * half + 16; ++i) dot += group.q[i] * q[i];
  return dot * group.scale[half];
}

// A minimum of 11 bits of F16 times at most 6 of an integer is exact.
float MinimumOf(const WeightGroup& group, uint32_t half) {
  return group.dmin[half / 2] * static_cast<float>(group.minimum[half]);
}

// `col`: the first column of the group.
void AddGroup(const GroupKind& kind, const WeightGroup& group, uint32_t blocks,
              const ActivationRow& row, uint32_t col, Accumulators* to) {
  const int8_t* const q = row.q + col;
  const float* const d = row.d + col / 32;
  const int16_t* const sums = row.sums + col / 16;
  for (uint32_t b = 0; b < blocks; ++b) {
    float& sum = to->lane[b];
    const int32_t low = DotHalf(group, q, 2 * b);
    const int32_t high = DotHalf(group, q, 2 * b + 1);
    if (kind.two_scales) {
      sum = std::fma(group.d[2 * b] * d[b], static_cast<float>(low), sum);
      sum = std::fma(group.d[2 * b + 1] * d[b], static_cast<float>(high), sum);
    } else {
      sum = std::fma(group.d[2 * b] * d[b], static_cast<float>(low + high), sum);
    }
    if (!kind.minima) continue;
    if (kind.halves) {
      for (uint32_t half = 2 * b; half < 2 * b + 2; ++half) {
        sum = std::fma(-MinimumOf(group, half), d[b] * static_cast<float>(sums[half]), sum);
      }
    } else {
      sum = std::fma(-MinimumOf(group, 2 * b), row.s[col / 32 + b], sum);
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
        AddGroup(format.kind, group, cols / 32, call.rows[r], col, &sums[r]);
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

void Wide(const WideCall& call) {
  for (uint32_t p = 0; p < call.panel_count; ++p) {
    const float* const panel = call.panels + p * call.panel_stride;
    for (uint32_t r = 0; r < call.rows; ++r) {
      const float* const weights = call.weights + size_t{r} * kWideCols;
      for (uint32_t lane = 0; lane < kWideLanes; ++lane) {
        float& sum = call.sums[(size_t{p} * kWideRows + r) * kWideLanes + lane];
        for (uint32_t i = 0; i < call.cols; ++i) {
          sum = std::fma(weights[i], panel[size_t{i} * kWideLanes + lane], sum);
        }
        sum = Canonical(sum);
      }
    }
  }
}

void Decode(const Format& format, const std::byte* from, size_t blocks, float* to) {
  format.decode(from, blocks, to);
}
DecodeKernel FindDecode(TensorType) { return &Decode; }

DotKernel FindDot(TensorType type) {
  if (type == TensorType::kF16) return &DotFloats<F16ToF32>;
  if (type == TensorType::kBF16) return &DotFloats<Bf16ToF32>;
  return &DotQuantized;
}

}  // namespace

const ExactKernels& ScalarKernels() {
  static constexpr ExactKernels kKernels = {Isa::kScalar, &QuantizeAll, &ActivateAll,
                                            &Wide,        &FindDecode,  &FindDot};
  return kKernels;
}

}  // namespace berth::kernels
