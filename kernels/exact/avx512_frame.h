// The frame of the exact dot products on AVX-512 with VNNI: as avx2_frame.h, with two blocks of 32
// weights in each vector.
//
// To be included by files that are compiled for AVX-512 and by nobody else; everything is internal
// to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX512_FRAME_H_
#define BERTH_KERNELS_EXACT_AVX512_FRAME_H_

#include "kernels/exact/avx2_frame.h"

namespace berth::kernels {
namespace {

inline __m512i Load512(const void* from) { return _mm512_loadu_si512(from); }

// pair[i] holds sixteen partial sums: of blocks 2 i and 2 i + 1, eight each, of which four are of
// the first 16 weights. The order in which the sums of the sixteen halves (2 * block + half) come
// out:
//   0 4 8 12 | 1 5 9 13 | 2 6 10 14 | 3 7 11 15
inline __m512i SumHalves(const __m512i (&pair)[4]) {
  const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(pair[0], pair[1]),
                                     _mm512_unpackhi_epi32(pair[0], pair[1]));
  const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(pair[2], pair[3]),
                                     _mm512_unpackhi_epi32(pair[2], pair[3]));
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
// Lane b: block b.
inline __m256i SumBlocks(__m512i halves) {
  const __m512i both = _mm512_add_epi32(halves, _mm512_shuffle_i64x2(halves, halves, 0xb1));
  const __m512i order = _mm512_castsi256_si512(_mm256_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11));
  return _mm512_castsi512_si256(_mm512_permutexvar_epi32(order, both));
}
// Lane b: the first (second) half of block b alone.
inline __m256i FirstHalves(__m512i halves) {
  const __m512i order = _mm512_castsi256_si512(_mm256_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11));
  return _mm512_castsi512_si256(_mm512_permutexvar_epi32(order, halves));
}
inline __m256i SecondHalves(__m512i halves) {
  const __m512i order = _mm512_castsi256_si512(_mm256_setr_epi32(4, 12, 5, 13, 6, 14, 7, 15));
  return _mm512_castsi512_si256(_mm512_permutexvar_epi32(order, halves));
}
// Sixteen 16-bit numbers, one a half in natural order, into the order of SumHalves, as 32 bits.
inline __m512i ToHalves512(__m256i natural) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, _mm512_cvtepi16_epi32(natural));
}

// Products of 64 weights from 0 to 255 and 64 activations, in sixteen partial sums.
inline __m512i DotUnsigned(__m512i weights, __m512i q) {
  return _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, q);
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_FRAME_H_
