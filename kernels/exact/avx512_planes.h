// What the formats have in common, on AVX-512, of whose bytes pairs of bits are weights.
//
// To be included by files that are compiled for AVX-512 and by nobody else.
#ifndef BERTH_KERNELS_EXACT_AVX512_PLANES_H_
#define BERTH_KERNELS_EXACT_AVX512_PLANES_H_

#include "kernels/exact/avx512_arranged.h"

namespace berth::kernels {
namespace {

// Two bits of each byte.
template <int kPlane>
inline __m512i Plane(__m512i bytes) {
  const __m512i shifted = kPlane == 0 ? bytes : _mm512_srli_epi16(bytes, 2 * kPlane);
  return _mm512_and_si512(shifted, _mm512_set1_epi8(3));
}
inline void SplitPlanes(__m512i bytes, __m512i* to) {
  to[0] = Plane<0>(bytes);
  to[1] = Plane<1>(bytes);
  to[2] = Plane<2>(bytes);
  to[3] = Plane<3>(bytes);
}

// 32 bytes are four blocks of 32: plane p has blocks p and p + 4.
struct ByPlanes {
  static constexpr uint32_t kElements = 256;
  static constexpr bool kTwoScales = false;
  static constexpr Lane Of(int lane) { return InOrder(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangePlanes(q, to); }
};

// Parts: halves 0 and 1 of blocks 0 to 3, halves 0 and 1 of blocks 4 to 7. Each as two 16-bit
// numbers.
inline __m512i DotPlanes(const __m512i* planes, const int8_t* q) {
  return HalfSumParts(DotUnsigned(planes[0], Load512(q)), DotUnsigned(planes[1], Load512(q + 64)),
                      DotUnsigned(planes[2], Load512(q + 128)),
                      DotUnsigned(planes[3], Load512(q + 192)));
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_PLANES_H_
