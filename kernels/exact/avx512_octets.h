// The formats on avx512_quads.h whose points have eight weights, two quads: those of two weight
// rows fill a vector of 64 together, in every 128 bits eight of the one and then eight of the
// other. The two quads of a point, interleaved, come apart into the quads of the one row and of the
// other.
//
// To be included by files that are compiled for AVX-512 with VBMI and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX512_OCTETS_H_
#define BERTH_KERNELS_EXACT_AVX512_OCTETS_H_

#include "kernels/exact/avx512_quads.h"

namespace berth::kernels {
namespace {

// Two planes of a codebook: quads of weights 0 to 3 and 4 to 7, two bits a level.
template <size_t kSize>
struct OctetPlanes {
  alignas(64) uint8_t first[kSize];
  alignas(64) uint8_t second[kSize];
};
template <size_t kSize>
constexpr OctetPlanes<kSize> MakeOctetPlanes(const uint16_t (&codebook)[kSize]) {
  OctetPlanes<kSize> planes{};
  for (size_t i = 0; i < kSize; ++i) {
    planes.first[i] = static_cast<uint8_t>(codebook[i] & 0xff);
    planes.second[i] = static_cast<uint8_t>(codebook[i] >> 8);
  }
  return planes;
}

// The points of 64 codes.
struct Points {
  __m512i first, second;
};

template <size_t kSize>
inline Points Find(const OctetPlanes<kSize>& planes, const LongIndex& index) {
  return {LookupLong<kSize>(planes.first, index), LookupLong<kSize>(planes.second, index)};
}

// 32 bytes of each row, eight and eight.
inline __m512i Alternate(const uint8_t* a, const uint8_t* b) {
  const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(Load256(a)), Load256(b), 1);
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), both);
}

inline __m128i LoadLow64(const uint8_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}

inline __m512 LoadEighths(const uint8_t* a, const uint8_t* b) {
  return _mm512_mul_ps(LoadPairOfF16(a, b), _mm512_set1_ps(0.125f));
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_OCTETS_H_
