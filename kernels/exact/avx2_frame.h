// The frame of the exact dot products on AVX2: eight blocks of 32 weights at a time, whose integer
// results stand in the eight lanes of one vector, as do the eight running sums of the arithmetic.
//
// To be included by files that are compiled for AVX2 and by nobody else; everything is internal to
// them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_FRAME_H_
#define BERTH_KERNELS_EXACT_AVX2_FRAME_H_

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/exact/exact_kernels.h"

namespace berth::kernels {
namespace {

inline const uint8_t* Bytes(const std::byte* from) {
  return reinterpret_cast<const uint8_t*>(from);
}
inline __m256i Load256(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
inline __m128i Load128(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

// Weights come from memory, and the processor's own prefetcher stops at the end of every page. What
// lies so far ahead may belong to somebody else; a prefetch of it is harmless.
constexpr uint32_t kPrefetchBytes = 3072;
template <uint32_t kBytes>
inline void Prefetch(const void* from) {
  const char* const ahead = static_cast<const char*>(from) + kPrefetchBytes;
  for (uint32_t i = 0; i < kBytes; i += 64) _mm_prefetch(ahead + i, _MM_HINT_T0);
}

// The order in which SumHalves leaves the sixteen halves of eight blocks (2 * block + half): of
// the first vector, then of the second.
//   0 2 4 6 | 1 3 5 7    8 10 12 14 | 9 11 13 15
struct Halves {
  __m256i blocks03, blocks47;
};

// block[b] holds eight partial sums of block b: four of its first 16 weights, four of the others.
inline Halves SumHalves(const __m256i (&block)[8]) {
  const __m256i b01 = _mm256_hadd_epi32(block[0], block[1]);
  const __m256i b23 = _mm256_hadd_epi32(block[2], block[3]);
  const __m256i b45 = _mm256_hadd_epi32(block[4], block[5]);
  const __m256i b67 = _mm256_hadd_epi32(block[6], block[7]);
  return {_mm256_hadd_epi32(b01, b23), _mm256_hadd_epi32(b45, b67)};
}
// Lane b: block b.
inline __m256i SumBlocks(const Halves& halves) {
  return _mm256_add_epi32(_mm256_permute2x128_si256(halves.blocks03, halves.blocks47, 0x20),
                          _mm256_permute2x128_si256(halves.blocks03, halves.blocks47, 0x31));
}

// Sixteen 16-bit numbers, one a half in natural order, into the order of Halves, as 32 bits.
inline Halves ToHalves(__m256i natural) {
  const __m256i first = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(natural));
  const __m256i second = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(natural, 1));
  const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  return {_mm256_permutevar8x32_epi32(first, order), _mm256_permutevar8x32_epi32(second, order)};
}
inline Halves Multiply(const Halves& a, const Halves& b) {
  return {_mm256_mullo_epi32(a.blocks03, b.blocks03), _mm256_mullo_epi32(a.blocks47, b.blocks47)};
}

// Products of 32 signed weights (any) and 32 activations (-127 to 127), in eight partial sums.
// Magnitudes times activations that took the weights' signs: 2 * 128 * 127 fits in 16 bits.
inline __m256i DotSigned(__m256i weights, __m256i q) {
  const __m256i products =
      _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(q, weights));
  return _mm256_madd_epi16(products, _mm256_set1_epi16(1));
}
// The same for weights from 0 to 128.
inline __m256i DotUnsigned(__m256i weights, __m256i q) {
  return _mm256_madd_epi16(_mm256_maddubs_epi16(weights, q), _mm256_set1_epi16(1));
}

// A NaN of any kind becomes the quiet one.
inline float ToResult(float value) {
  const float nan = _mm_cvtss_f32(_mm_castsi128_ps(_mm_set1_epi32(0x7fc00000)));
  return value == value ? value : nan;
}
// The end of the arithmetic: 0+4, 1+5, 2+6, 3+7; 0+2, 1+3; 0+1.
inline float Total(__m256 sums) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return ToResult(_mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))));
}

// A format:
//   static constexpr uint32_t kElements, kBytes;   of a block
//   static constexpr bool kTwoScales;    each half of a block has a float scale
//   static constexpr Minima kMinima;
//   struct Group;    eight blocks of 32, taken apart; has __m256 d (lane b: block b's), with
//                    kTwoScales also d_high, with minima also `minimum` (dmin times the integer,
//                    which is exact), with Minima::kHalves also minimum_high
//   static void Load(const DotCall& call, const uint8_t* from, Group* group);
//   static __m256i Integers(const Group& group, const int8_t* q, const int16_t* sums);
//                    lane b: sum of sub-scale * weight * q over block b (with kTwoScales: of its
//                    first 16 weights; HighIntegers gives the others)
// Load may read whole groups only: what is left at the end of a row comes from a padded copy.
enum class Minima { kNone, kBlocks, kHalves };

// Lane b: the activation scale times the sum of q over the first (second) half of block b.
inline __m256 HalfSums(const int16_t* sums, bool second, __m256 da) {
  __m256i both = Load256(sums);
  if (!second) both = _mm256_slli_epi32(both, 16);
  return _mm256_mul_ps(da, _mm256_cvtepi32_ps(_mm256_srai_epi32(both, 16)));
}

// Minima of the first and of the second halves, as floats.
inline void SplitMinima(const WeightGroup& group, __m256* minimum, __m256* minimum_high) {
  const __m256 dmin = _mm256_load_ps(group.dmin);
  const __m256i both = Load256(group.minimum);
  const __m256i first = _mm256_srai_epi32(_mm256_slli_epi32(both, 16), 16);
  *minimum = _mm256_mul_ps(dmin, _mm256_cvtepi32_ps(first));
  *minimum_high = _mm256_mul_ps(dmin, _mm256_cvtepi32_ps(_mm256_srai_epi32(both, 16)));
}

template <typename Format>
inline __m256 AddGroup(const typename Format::Group& group, const ActivationRow& row, uint32_t col,
                       __m256 sums) {
  const int8_t* const q = row.q + col;
  const int16_t* const q_sums = row.sums + col / 16;
  const __m256 da = _mm256_loadu_ps(row.d + col / 32);
  const __m256 low = _mm256_cvtepi32_ps(Format::Integers(group, q, q_sums));
  sums = _mm256_fmadd_ps(_mm256_mul_ps(group.d, da), low, sums);
  if constexpr (Format::kTwoScales) {
    const __m256 high = _mm256_cvtepi32_ps(Format::HighIntegers(group, q, q_sums));
    sums = _mm256_fmadd_ps(_mm256_mul_ps(group.d_high, da), high, sums);
  }
  if constexpr (Format::kMinima == Minima::kBlocks) {
    sums = _mm256_fnmadd_ps(group.minimum, _mm256_loadu_ps(row.s + col / 32), sums);
  }
  if constexpr (Format::kMinima == Minima::kHalves) {
    sums = _mm256_fnmadd_ps(group.minimum, HalfSums(q_sums, false, da), sums);
    sums = _mm256_fnmadd_ps(group.minimum_high, HalfSums(q_sums, true, da), sums);
  }
  return sums;
}

// The lanes of the first `blocks` blocks.
inline __m256 LaneMask(uint32_t blocks) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(blocks)), lane));
}

template <typename Format, bool kOneRow>
inline void DotRow(const DotCall& call, const uint8_t* from, float* out) {
  constexpr uint32_t kGroupBytes = 256 / Format::kElements * Format::kBytes;
  const uint32_t row_count = kOneRow ? 1 : call.row_count;
  __m256 sums[kOneRow ? 1 : kMaxDotRows];
  for (uint32_t r = 0; r < row_count; ++r) sums[r] = _mm256_setzero_ps();
  typename Format::Group group;
  uint32_t col = 0;
  for (; col + 256 <= call.cols; col += 256, from += kGroupBytes) {
    Format::Load(call, from, &group);
    for (uint32_t r = 0; r < row_count; ++r) {
      sums[r] = AddGroup<Format>(group, call.rows[r], col, sums[r]);
    }
  }
  if constexpr (Format::kElements < 256) {
    if (col < call.cols) {
      uint8_t padded[kGroupBytes] = {};
      memcpy(padded, from, (call.cols - col) / Format::kElements * Format::kBytes);
      Format::Load(call, padded, &group);
      const __m256 mask = LaneMask((call.cols - col) / 32);
      for (uint32_t r = 0; r < row_count; ++r) {
        sums[r] =
            _mm256_blendv_ps(sums[r], AddGroup<Format>(group, call.rows[r], col, sums[r]), mask);
      }
    }
  }
  for (uint32_t r = 0; r < row_count; ++r) out[r * call.out_stride] = Total(sums[r]);
}

template <typename Format>
void Dot(const DotCall& call) {
  const uint8_t* from = Bytes(call.weights);
  for (uint32_t w = 0; w < call.weight_rows; ++w, from += call.row_bytes) {
    if (call.row_count == 1) {
      DotRow<Format, true>(call, from, call.out + w);
    } else {
      DotRow<Format, false>(call, from, call.out + w);
    }
  }
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_FRAME_H_
