// Formats taken apart on AVX2 for decoding to floats: what format.unpack gives, with each half's
// two scales (and dmin and minimum) already multiplied.
//
// Of a format:
//   static constexpr uint32_t kElements, kBytes;   of a block
//   static constexpr bool kMinima;
//   static void Unpack(const uint8_t* from, uint32_t blocks, Unpacked* to);   at most 256 weights;
//                                                         reads not a byte more
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_UNPACK_H_
#define BERTH_KERNELS_EXACT_AVX2_UNPACK_H_

#include "kernels/exact/avx2_points.h"

namespace berth::kernels {
namespace {

// weight i = scale[i / 16] * q[i] + offset[i / 16]
struct Unpacked {
  alignas(64) int8_t q[256];
  alignas(64) float scale[16];
  alignas(64) float offset[16];  // with kMinima
};

inline void Store256(__m256i bytes, int8_t* to) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), bytes);
}
inline uint32_t Load32(const uint8_t* from) {
  uint32_t bits;
  memcpy(&bits, from, sizeof(bits));
  return bits;
}

// Both halves of block b alike.
inline void SetBlock(float value, uint32_t b, float* to) { to[2 * b] = to[2 * b + 1] = value; }
inline void SetBlocks(__m256 eight, float* to) {
  const __m256i first = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  const __m256i second = _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7);
  _mm256_store_ps(to, _mm256_permutevar8x32_ps(eight, first));
  _mm256_store_ps(to + 8, _mm256_permutevar8x32_ps(eight, second));
}
// factor times sixteen 16-bit numbers, one a half.
inline void SetHalves(__m256 factor, __m256i halves, float* to) {
  const __m256i first = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(halves));
  const __m256i second = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(halves, 1));
  _mm256_store_ps(to, _mm256_mul_ps(factor, _mm256_cvtepi32_ps(first)));
  _mm256_store_ps(to + 8, _mm256_mul_ps(factor, _mm256_cvtepi32_ps(second)));
}
inline __m256 Negative(__m256 value) { return _mm256_xor_ps(value, _mm256_set1_ps(-0.0f)); }

// 0xff in byte i where bit i of 32 is set.
inline __m256i SpreadBits(uint32_t bits) {
  const __m256i byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                        2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), byte);
  return _mm256_cmpeq_epi8(_mm256_and_si256(all, bit), bit);
}

// 32 bytes: bits kShift to kShift + 1, or + 3, of each.
template <int kShift, int kMask>
inline __m256i Fields(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, kShift), _mm256_set1_epi8(kMask));
}
// 16 bytes: the low nibbles, then the high ones.
inline __m256i NibblesOf(const uint8_t* qs) {
  const __m128i bytes = Load128(qs);
  const __m256i both =
      _mm256_inserti128_si256(_mm256_castsi128_si256(bytes), _mm_srli_epi16(bytes, 4), 1);
  return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

// Points of a lattice (avx2_points.h).
template <typename F>
struct UnpackPoints {
  static constexpr uint32_t kElements = 256, kBytes = sizeof(typename F::Block);
  static constexpr bool kMinima = false;

  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    const auto& block = *reinterpret_cast<const typename F::Block*>(from);
    typename F::Codes codes;
    F::Prepare(block, &codes);
    for (int b = 0; b < 8; ++b) {
      __m256i weights = F::Points(codes, b);
      if constexpr (F::kSigned) {
        const __m256i signs = SpreadBits(Load32(codes.signs + 4 * b));
        weights = _mm256_sub_epi8(_mm256_xor_si256(weights, signs), signs);
      } else {
        weights = _mm256_sub_epi8(weights, _mm256_set1_epi8(F::kOffset));
      }
      Store256(weights, to->q + 32 * b);
    }
    SetHalves(_mm256_set1_ps(F::D(block)), HalvesInTurn(F::Scales(block)), to->scale);
  }
};

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_UNPACK_H_
