// What the formats have in common, on AVX2, whose blocks of 32 weights are two halves of 16: all
// but a few.
//
// To be included by files that are compiled for AVX2 and by nobody else.
#ifndef BERTH_KERNELS_EXACT_AVX2_HALVES_H_
#define BERTH_KERNELS_EXACT_AVX2_HALVES_H_

#include "kernels/exact/avx2_arranged.h"

namespace berth::kernels {
namespace {

// Vector i of `first` (`second`): half 0 (1) of block i, then of block i + 4.
struct Halved {
  __m256i first[4], second[4];
  __m256 d;
};

struct ByHalves {
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  using Group = Halved;

  // Vectors 0 to 3: first halves, 4 to 7: second halves.
  static void Arrange(const int8_t* low, const int8_t* high, int8_t* to) {
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 4; ++i, to += 32) {
        memcpy(to, low + 32 * i + 16 * half, 16);
        memcpy(to + 16, high + 32 * i + 16 * half, 16);
      }
    }
  }
  static __m256i Weights(__m256i nibbles) { return nibbles; }
};

inline __m256i LowNibbles(__m256i bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(15)); }
inline __m256i HighNibbles(__m256i bytes) { return LowNibbles(_mm256_srli_epi16(bytes, 4)); }

// Blocks of kBytes with a payload of nibbles from byte kFirst on.
template <typename Format, int kBytes, int kFirst>
inline void LoadNibbles(const uint8_t* low, const uint8_t* high, Halved* to) {
  for (int i = 0; i < 4; ++i) {
    const __m256i bytes = LoadParts(low + kBytes * i + kFirst, high + kBytes * i + kFirst);
    to->first[i] = Format::Weights(LowNibbles(bytes));
    to->second[i] = Format::Weights(HighNibbles(bytes));
  }
}
// One 16-bit word a block, at byte kAt of its kBytes.
template <int kBytes, int kAt>
inline __m128i GatherWords(const uint8_t* low, const uint8_t* high) {
  const auto at = [](const uint8_t* from, int block) {
    return static_cast<int>(LoadU16(from + kBytes * block + kAt));
  };
  __m128i first = _mm_cvtsi32_si128(at(low, 0));
  first = _mm_insert_epi16(first, at(low, 1), 1);
  first = _mm_insert_epi16(first, at(low, 2), 2);
  first = _mm_insert_epi16(first, at(low, 3), 3);
  __m128i second = _mm_cvtsi32_si128(at(high, 0));
  second = _mm_insert_epi16(second, at(high, 1), 1);
  second = _mm_insert_epi16(second, at(high, 2), 2);
  second = _mm_insert_epi16(second, at(high, 3), 3);
  return _mm_unpacklo_epi64(first, second);
}

// Pairs of bits of each byte, the lowest first.
template <int kPlane>
inline __m256i Plane(__m256i bytes) {
  const __m256i shifted = kPlane == 0 ? bytes : _mm256_srli_epi16(bytes, 2 * kPlane);
  return _mm256_and_si256(shifted, _mm256_set1_epi8(3));
}
inline void SplitPlanes(__m256i bytes, __m256i* to) {
  to[0] = Plane<0>(bytes);
  to[1] = Plane<1>(bytes);
  to[2] = Plane<2>(bytes);
  to[3] = Plane<3>(bytes);
}
// All ones in byte i of a part where byte kByte + i / 8 of the part has bit i % 8.
template <int kByte>
inline __m256i BitMask(__m256i bits) {
  const __m256i spread = _mm256_broadcastsi128_si256(
      _mm_set_epi64x(0x0101010101010101 * (kByte + 1), 0x0101010101010101 * kByte));
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  return _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(bits, spread), bit), bit);
}

inline __m256i Ones() { return _mm256_set1_epi16(1); }

// Products of halves i of a block, two in each of eight 16-bit numbers; weights from 0 to 128.
inline __m256i FirstWords(const Halved& group, const Arranged& x, int i) {
  return _mm256_maddubs_epi16(group.first[i], x.Q(i));
}
inline __m256i SecondWords(const Halved& group, const Arranged& x, int i) {
  return _mm256_maddubs_epi16(group.second[i], x.Q(4 + i));
}

// In each part, the sums of the part's four numbers in a, b, c, d.
inline __m256i SumParts(const __m256i (&sums)[4]) {
  const __m256i ab = _mm256_add_epi32(_mm256_unpacklo_epi32(sums[0], sums[1]),
                                      _mm256_unpackhi_epi32(sums[0], sums[1]));
  const __m256i cd = _mm256_add_epi32(_mm256_unpacklo_epi32(sums[2], sums[3]),
                                      _mm256_unpackhi_epi32(sums[2], sums[3]));
  return _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
}

// Weights from 0 to 15, of which sixteen products fit in 16 bits: `scale` has a factor for each
// half of a block.
inline __m256i SumSmall(const Halved& group, const Arranged& x, __m256i scale) {
  __m256i sums[4];
  for (int i = 0; i < 4; ++i) {
    sums[i] = _mm256_madd_epi16(_mm256_add_epi16(FirstWords(group, x, i), SecondWords(group, x, i)),
                                Ones());
  }
  const __m256i ab = _mm256_madd_epi16(_mm256_packs_epi32(sums[0], sums[1]), Ones());
  const __m256i cd = _mm256_madd_epi16(_mm256_packs_epi32(sums[2], sums[3]), Ones());
  return _mm256_madd_epi16(_mm256_packs_epi32(ab, cd), scale);
}
// Weights from 0 to 63, of which four products do.
inline __m256i SumMedium(const Halved& group, const Arranged& x) {
  __m256i sums[4];
  for (int i = 0; i < 4; ++i) {
    sums[i] = _mm256_madd_epi16(_mm256_add_epi16(FirstWords(group, x, i), SecondWords(group, x, i)),
                                Ones());
  }
  return SumParts(sums);
}
// Signed weights: two products do. Magnitudes times activations that took the weights' signs.
inline __m256i SumSigned(const Halved& group, const Arranged& x) {
  __m256i sums[4];
  for (int i = 0; i < 4; ++i) {
    sums[i] =
        _mm256_add_epi32(DotSigned(group.first[i], x.Q(i)), DotSigned(group.second[i], x.Q(4 + i)));
  }
  return SumParts(sums);
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_HALVES_H_
