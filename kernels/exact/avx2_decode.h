// Weights decoded to floats on AVX2 or more: format.decode's bits.
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_DECODE_H_
#define BERTH_KERNELS_EXACT_AVX2_DECODE_H_

#include "kernels/exact/avx2_points_iq1.h"
#include "kernels/exact/avx2_points_iq2.h"
#include "kernels/exact/avx2_points_iq3.h"
#include "kernels/exact/avx2_unpack_k.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

// `Vectors`, of an instruction set:
//   template <bool kMinima> static void ToFloats(const Unpacked& group, size_t halves, float* to);
//   static constexpr size_t kFloats;   of a vector
//   static void HalvesToFloats(const uint8_t* from, float* to);   F16: a vector of them
//   static void BrainToFloats(const uint8_t* from, float* to);    BF16
template <typename Vectors, typename F>
void DecodeWith(const Format&, const std::byte* weights, size_t blocks, float* to) {
  constexpr size_t kAtOnce = 256 / F::kElements;
  const uint8_t* from = Bytes(weights);
  Unpacked group;
  while (blocks > 0) {
    const size_t count = blocks < kAtOnce ? blocks : kAtOnce;
    F::Unpack(from, static_cast<uint32_t>(count), &group);
    Vectors::template ToFloats<F::kMinima>(group, count * F::kElements / 16, to);
    from += count * F::kBytes;
    to += count * F::kElements;
    blocks -= count;
  }
}

// Taken apart in plain code; formats without minima.
template <typename Vectors>
void DecodePlain(const Format& format, const std::byte* from, size_t blocks, float* to) {
  const size_t at_once = 256 / format.block_elements;
  WeightGroup group;
  Unpacked unpacked;
  memset(&group, 0, sizeof(group));
  while (blocks > 0) {
    const size_t count = blocks < at_once ? blocks : at_once;
    format.unpack(from, count, &group);
    memcpy(unpacked.q, group.q, sizeof(group.q));
    for (int half = 0; half < 16; ++half) {
      unpacked.scale[half] = group.d[half] * static_cast<float>(group.scale[half]);
    }
    Vectors::template ToFloats<false>(unpacked, count * format.block_elements / 16, to);
    from += count * format.block_bytes;
    to += count * format.block_elements;
    blocks -= count;
  }
}

template <typename Vectors, bool kBrain>
void DecodeFloats(const Format& format, const std::byte* weights, size_t count, float* to) {
  const uint8_t* const from = Bytes(weights);
  size_t i = 0;
  for (; i + Vectors::kFloats <= count; i += Vectors::kFloats) {
    if constexpr (kBrain) {
      Vectors::BrainToFloats(from + 2 * i, to + i);
    } else {
      Vectors::HalvesToFloats(from + 2 * i, to + i);
    }
  }
  if (i < count) format.decode(weights + 2 * i, count - i, to + i);
}

template <typename Vectors>
DecodeKernel FindDecode(TensorType type) {
  switch (type) {
    case TensorType::kF16:
      return &DecodeFloats<Vectors, false>;
    case TensorType::kBF16:
      return &DecodeFloats<Vectors, true>;
    case TensorType::kQ4_0:
      return &DecodeWith<Vectors, UnpackBlocksOf32<UnpackQ4_0>>;
    case TensorType::kQ4_1:
      return &DecodeWith<Vectors, UnpackBlocksOf32<UnpackQ4_1, true>>;
    case TensorType::kQ5_0:
      return &DecodeWith<Vectors, UnpackBlocksOf32<UnpackQ5_0>>;
    case TensorType::kQ5_1:
      return &DecodeWith<Vectors, UnpackBlocksOf32<UnpackQ5_1, true>>;
    case TensorType::kQ8_0:
      return &DecodeWith<Vectors, UnpackBlocksOf32<UnpackQ8_0>>;
    case TensorType::kIQ4_NL:
      return &DecodeWith<Vectors, UnpackBlocksOf32<UnpackIq4_Nl>>;
    case TensorType::kMXFP4:
      return &DecodeWith<Vectors, UnpackBlocksOf32<UnpackMxfp4>>;
    case TensorType::kNVFP4:
      return &DecodeWith<Vectors, UnpackNvfp4>;
    case TensorType::kQ1_0:
      return &DecodeWith<Vectors, UnpackQ1_0>;
    case TensorType::kQ2_0:
      return &DecodeWith<Vectors, UnpackQ2_0>;
    case TensorType::kTQ2_0:
      return &DecodeWith<Vectors, UnpackTq2_0>;
    case TensorType::kQ2_K:
      return &DecodeWith<Vectors, UnpackQ2_K>;
    case TensorType::kQ3_K:
      return &DecodeWith<Vectors, UnpackQ3_K>;
    case TensorType::kQ4_K:
      return &DecodeWith<Vectors, UnpackQ4_K>;
    case TensorType::kQ5_K:
      return &DecodeWith<Vectors, UnpackQ5_K>;
    case TensorType::kQ6_K:
      return &DecodeWith<Vectors, UnpackQ6_K>;
    case TensorType::kIQ4_XS:
      return &DecodeWith<Vectors, UnpackIq4_Xs>;
    case TensorType::kIQ3_S:
      return &DecodeWith<Vectors, UnpackPoints<Iq3SPoints>>;
    case TensorType::kIQ3_XXS:
      return &DecodeWith<Vectors, UnpackPoints<Iq3XxsPoints>>;
    case TensorType::kIQ2_S:
      return &DecodeWith<Vectors, UnpackPoints<Iq2SPoints>>;
    case TensorType::kIQ2_XS:
      return &DecodeWith<Vectors, UnpackPoints<Iq2XsPoints>>;
    case TensorType::kIQ2_XXS:
      return &DecodeWith<Vectors, UnpackPoints<Iq2XxsPoints>>;
    case TensorType::kIQ1_S:
      return &DecodeWith<Vectors, UnpackPoints<Iq1SPoints>>;
    case TensorType::kIQ1_M:
      return &DecodeWith<Vectors, UnpackPoints<Iq1MPoints>>;
    default:  // TQ1_0
      return &DecodePlain<Vectors>;
  }
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_DECODE_H_
