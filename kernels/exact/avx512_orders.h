// In which order blocks stand in vectors of two weight rows (avx512_arranged.h), and how sums of
// products come out block by block.
//
// To be included by files that are compiled for AVX-512 and by nobody else.
#ifndef BERTH_KERNELS_EXACT_AVX512_ORDERS_H_
#define BERTH_KERNELS_EXACT_AVX512_ORDERS_H_

#include "kernels/exact/avx512_frame.h"

namespace berth::kernels {
namespace {

// Which block of which of the two weight rows stands in a lane.
struct Lane {
  int row, block;
};
// Four 128-bit parts: part i has blocks i and i + 4 of the first row, then of the second.
constexpr Lane ByQuads(int lane) { return {lane % 4 / 2, lane / 4 + 4 * (lane % 2)}; }
// Part i has blocks 2 i and 2 i + 1 of the first row, then of the second.
constexpr Lane ByPairs(int lane) { return {lane % 4 / 2, lane / 4 * 2 + lane % 2}; }
// The first row's blocks in order, then the second's.
constexpr Lane InOrder(int lane) { return {lane / 8, lane % 8}; }
// The first row's even blocks, its odd ones, then the second's.
constexpr Lane EvenOdd(int lane) { return {lane / 8, lane % 4 * 2 + lane / 4 % 2}; }

// The lanes in which InOrder's blocks stand.
template <Lane (*kLane)(int)>
inline __m512i LanesInOrder() {
  alignas(64) int32_t index[16];
  for (int lane = 0; lane < 16; ++lane) index[8 * kLane(lane).row + kLane(lane).block] = lane;
  return _mm512_load_si512(index);
}

// The orders of activations. Halves are the two times 16 columns of a block.
//
// Halves 0 of blocks 0 to 3, halves 1 of the same; then blocks 4 to 7.
inline void ArrangeByQuads(const int8_t* q, int8_t* to) {
  for (int b = 0; b < 8; ++b) {
    for (int half = 0; half < 2; ++half) {
      memcpy(to + 128 * (b / 4) + 64 * half + 16 * (b % 4), q + 32 * b + 16 * half, 16);
    }
  }
}
// Halves 0 of the even blocks, halves 1 of the same; then the odd blocks.
inline void ArrangeByPairs(const int8_t* q, int8_t* to) {
  for (int b = 0; b < 8; ++b) {
    for (int half = 0; half < 2; ++half) {
      memcpy(to + 128 * (b % 2) + 64 * half + 16 * (b / 2), q + 32 * b + 16 * half, 16);
    }
  }
}
// Blocks 0 and 4, 1 and 5, 2 and 6, 3 and 7.
inline void ArrangePlanes(const int8_t* q, int8_t* to) {
  for (int b = 0; b < 8; ++b) memcpy(to + 64 * (b % 4) + 32 * (b / 4), q + 32 * b, 32);
}
inline void ArrangeInOrder(const int8_t* q, int8_t* to) { memcpy(to, q, 256); }

// What comes of four vectors of four partial sums a part: in each part, the sums of a, b, c, d.
inline __m512i SumParts(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}
// The same for sums that fit in 16 bits when two of the four are added: each as two 16-bit numbers,
// which are to be multiplied (by one, or by a sub-scale) and added.
inline __m512i HalfSumParts(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i one = _mm512_set1_epi16(1);
  const __m512i ab = _mm512_madd_epi16(_mm512_packs_epi32(a, b), one);
  const __m512i cd = _mm512_madd_epi16(_mm512_packs_epi32(c, d), one);
  return _mm512_packs_epi32(ab, cd);
}

// Parts 0 + 1 and 2 + 3 of the first weight row, then of the second.
inline __m512i AddNeighbours(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}
// In each part, of a, then of b: numbers 0 + 1 and 2 + 3.
inline __m512i AddWithinParts(__m512i a, __m512i b) {
  const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
  return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88)),
                          _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xdd)));
}

inline uint32_t LoadU16(const uint8_t* from) {
  uint16_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}
inline uint32_t LoadU32(const uint8_t* from) {
  uint32_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}

// Two F16 each of the first and of the second weight row, as floats.
inline __m128 TwoPairs(uint32_t a, uint32_t b) {
  return _mm_cvtph_ps(_mm_cvtsi64_si128(static_cast<int64_t>(uint64_t{b} << 32 | a)));
}
// Number kWhich of its row in all lanes of the row.
template <Lane (*kLane)(int), int kWhich>
inline __m512 SpreadHalves(__m128 pairs) {
  alignas(64) int32_t index[16];
  for (int lane = 0; lane < 16; ++lane) index[lane] = 2 * kLane(lane).row + kWhich;
  return _mm512_permutexvar_ps(_mm512_load_si512(index), _mm512_castps128_ps512(pairs));
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_ORDERS_H_
