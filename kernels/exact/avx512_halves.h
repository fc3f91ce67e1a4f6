// What the formats have in common, on AVX-512, whose blocks of 32 weights are two halves of 16 that
// lie in the same 16 bytes, or come to lie so: nibbles of a block, whole bytes.
//
// To be included by files that are compiled for AVX-512 and by nobody else.
#ifndef BERTH_KERNELS_EXACT_AVX512_HALVES_H_
#define BERTH_KERNELS_EXACT_AVX512_HALVES_H_

#include "kernels/exact/avx512_arranged.h"

namespace berth::kernels {
namespace {

// 16 bytes each of four blocks.
template <int kBytes>
inline __m512i LoadFour(const uint8_t* from) {
  __m512i four = _mm512_zextsi128_si512(Load128(from));
  four = _mm512_inserti32x4(four, Load128(from + kBytes), 1);
  four = _mm512_inserti32x4(four, Load128(from + 2 * kBytes), 2);
  return _mm512_inserti32x4(four, Load128(from + 3 * kBytes), 3);
}
template <int kBytes>
inline __m512i LoadTwo(const uint8_t* from) {
  return _mm512_inserti32x4(_mm512_zextsi128_si512(Load128(from)), Load128(from + kBytes), 1);
}

inline __m512i LowNibbles(__m512i bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }
inline __m512i HighNibbles(__m512i bytes) { return LowNibbles(_mm512_srli_epi16(bytes, 4)); }

// Lane l, where `lanes` has its bit: word Of(l) of those from `low` and `high` on. Others keep
// theirs.
struct WordIndex {
  alignas(64) uint16_t of[32] = {};
  uint16_t lanes = 0;
};

// Of blocks of kStride bytes, words at byte kAt, in the lanes that ByQuads gives four of them; from
// two vectors, so placed that none reaches beyond the four blocks.
template <int kStride, int kAt>
struct QuadWords {
  static constexpr int kSecond = 2 * kStride < 4 * kStride - 64 ? 2 * kStride : 4 * kStride - 64;
  static constexpr WordIndex Make(int row, int quad) {
    WordIndex index;
    for (int lane = 0; lane < 16; ++lane) {
      const Lane from = ByQuads(lane);
      if (from.row != row || from.block / 4 != quad) continue;
      const int byte = from.block % 4 * kStride + kAt;
      index.of[lane] = static_cast<uint16_t>(byte <= 62 ? byte / 2 : 32 + (byte - kSecond) / 2);
      index.lanes |= static_cast<uint16_t>(1 << lane);
    }
    return index;
  }
  template <int kRow, int kQuad>
  static __m256i Gather(__m256i others, const uint8_t* row) {
    static constexpr WordIndex kIndex = Make(kRow, kQuad);
    const uint8_t* const from = row + 4 * kStride * kQuad;
    const __m512i index = _mm512_load_si512(kIndex.of);
    const __m512i words =
        3 * kStride + kAt <= 62
            ? _mm512_permutexvar_epi16(index, Load512(from))
            : _mm512_permutex2var_epi16(Load512(from), index, Load512(from + kSecond));
    return _mm256_mask_mov_epi16(others, kIndex.lanes, _mm512_castsi512_si256(words));
  }
};

// One 16-bit word a block, at byte kAt of its kStride bytes, ByQuads; zero beyond kQuads.
template <int kQuads, int kStride, int kAt>
inline __m256i GatherWords(const uint8_t* a, const uint8_t* b) {
  using Words = QuadWords<kStride, kAt>;
  __m256i words = _mm256_setzero_si256();
  words = Words::template Gather<0, 0>(words, a);
  words = Words::template Gather<1, 0>(words, b);
  if constexpr (kQuads == 2) {
    words = Words::template Gather<0, 1>(words, a);
    words = Words::template Gather<1, 1>(words, b);
  }
  return words;
}
// Weights from 0 to 255. Part b of a vector: half 0 (half 1) of block b or b + 4.
struct Halved {
  __m512i first[4], second[4];  // blocks 0-3, 4-7 of the first row; of the second row
  __m512 d;
};

// Loaded into a register: GCC would rather read what is used twice from memory twice, and loads are
// what the loop over activation rows is short of.
inline __m512i Once(__m512i value) {
  asm("" : "+v"(value));
  return value;
}

// Of the parts, in the order of Halved.
template <int kQuads>
inline void DotHalved(const Halved& group, const Arranged& x, __m512i (&sums)[4]) {
  for (int i = 0; i < 2; ++i) {
    if (i >= kQuads) {
      sums[i] = sums[2 + i] = _mm512_setzero_si512();
      continue;
    }
    const __m512i first = Once(Load512(x.q + 128 * i));
    const __m512i second = Once(Load512(x.q + 128 * i + 64));
    for (int row = 0; row < 4; row += 2) {
      sums[row + i] = _mm512_dpbusd_epi32(DotUnsigned(group.first[row + i], first),
                                          group.second[row + i], second);
    }
  }
}
// What comes of them: ByQuads. Weights up to 15: sixteen products fit in 16 bits.
template <int kQuads>
inline __m512i SumSmall(const Halved& group, const Arranged& x, __m512i start) {
  __m512i sums[4];
  DotHalved<kQuads>(group, x, sums);
  return _mm512_dpwssd_epi32(start, HalfSumParts(sums[0], sums[1], sums[2], sums[3]),
                             _mm512_set1_epi16(1));
}
template <int kQuads>
inline __m512i SumLarge(const Halved& group, const Arranged& x, __m512i start) {
  __m512i sums[4];
  DotHalved<kQuads>(group, x, sums);
  return _mm512_add_epi32(start, SumParts(sums[0], sums[1], sums[2], sums[3]));
}

// A format of blocks of kBlockBytes, with a payload of nibbles from byte kFirst on, for which
// Decode::Weights(nibbles) gives weights from 0 to 255.
template <typename Decode, int kBlockBytes, int kFirst, int kQuads>
inline void LoadNibbles(const uint8_t* a, const uint8_t* b, Halved* to) {
  for (int i = 0; i < kQuads; ++i) {
    const __m512i first = LoadFour<kBlockBytes>(a + 4 * kBlockBytes * i + kFirst);
    const __m512i second = LoadFour<kBlockBytes>(b + 4 * kBlockBytes * i + kFirst);
    to->first[i] = Decode::Weights(LowNibbles(first));
    to->second[i] = Decode::Weights(HighNibbles(first));
    to->first[2 + i] = Decode::Weights(LowNibbles(second));
    to->second[2 + i] = Decode::Weights(HighNibbles(second));
  }
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_HALVES_H_
