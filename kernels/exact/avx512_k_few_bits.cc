// AVX-512: the K formats of two and three bits.
#include "kernels/exact/avx512_planes.h"

namespace berth::kernels {
namespace {

// Sixteen bytes, one a half in order, into the order of DotPlanes, twice and as 16 bits; signed.
inline __m512i TwiceByPlanes(__m128i bytes) {
  const __m512i index = _mm512_setr_epi32(
      static_cast<int>(0x00800080), static_cast<int>(0x02800280), static_cast<int>(0x04800480),
      static_cast<int>(0x06800680), static_cast<int>(0x01800180), static_cast<int>(0x03800380),
      static_cast<int>(0x05800580), static_cast<int>(0x07800780), static_cast<int>(0x08800880),
      static_cast<int>(0x0a800a80), static_cast<int>(0x0c800c80), static_cast<int>(0x0e800e80),
      static_cast<int>(0x09800980), static_cast<int>(0x0b800b80), static_cast<int>(0x0d800d80),
      static_cast<int>(0x0f800f80));
  return _mm512_srai_epi16(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytes), index), 8);
}

struct Q2_K : ByPlanes {
  static constexpr uint32_t kBytes = 84;
  static constexpr Minima kMinima = Minima::kHalves;
  struct Group {
    __m512i planes[8];  // of the first row, of the second
    __m512i scale[2];
    __m512 d, minimum, minimum_high;
  };

  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    SplitPlanes(Load512(a + 16), to->planes);
    SplitPlanes(Load512(b + 16), to->planes + 4);
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(Load128(a)), Load128(b), 1);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i scales = _mm256_and_si256(both, nibble);
    to->scale[0] = TwiceByPlanes(_mm256_castsi256_si128(scales));
    to->scale[1] = TwiceByPlanes(_mm256_extracti128_si256(scales, 1));
    const __m512i minima =
        _mm512_cvtepu8_epi16(_mm256_and_si256(_mm256_srli_epi16(both, 4), nibble));
    const __m128 floats = TwoPairs(LoadU32(a + 80), LoadU32(b + 80));
    to->d = SpreadHalves<&InOrder, 0>(floats);
    const __m512 dmin = SpreadHalves<&InOrder, 1>(floats);
    const __m512i first = _mm512_and_si512(minima, _mm512_set1_epi32(0xffff));
    to->minimum = _mm512_mul_ps(dmin, _mm512_cvtepi32_ps(first));
    to->minimum_high = _mm512_mul_ps(dmin, _mm512_cvtepi32_ps(_mm512_srli_epi32(minima, 16)));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return AddNeighbours(_mm512_madd_epi16(DotPlanes(group.planes, x.q), group.scale[0]),
                         _mm512_madd_epi16(DotPlanes(group.planes + 4, x.q), group.scale[1]));
  }
};

struct Q3_K : ByPlanes {
  static constexpr uint32_t kBytes = 110;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr int kOffset = 0;
  struct Group {
    __m512i planes[8];      // 4 up
    __m512i scale[2], off;  // off: -4 times the scales, in order
    __m512 d;
  };

  // low | (high & 4)
  static __m512i Join(__m512i low, __m512i high) {
    return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(4), 0xf8);
  }
  // Bit b of a byte is the third of a weight of block b.
  static void LoadRow(const uint8_t* from, __m512i* planes) {
    SplitPlanes(Load512(from + 32), planes);
    const __m512i shift = _mm512_setr_epi64(0, 0, 0, 0, 4, 4, 4, 4);
    const __m512i bits = _mm512_srlv_epi64(_mm512_broadcast_i64x4(Load256(from)), shift);
    planes[0] = Join(planes[0], _mm512_slli_epi16(bits, 2));
    planes[1] = Join(planes[1], _mm512_slli_epi16(bits, 1));
    planes[2] = Join(planes[2], bits);
    planes[3] = Join(planes[3], _mm512_srli_epi16(bits, 1));
  }
  // Sixteen scales, 32 up (kernels/formats/k_quants.cc says what is where).
  static __m128i Scales(const uint8_t* from) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m128i nibbles =
        _mm_and_si128(_mm_unpacklo_epi64(low, _mm_srli_epi64(low, 4)), _mm_set1_epi8(15));
    const __m128i upper = _mm_srlv_epi32(_mm_set1_epi32(static_cast<int>(LoadU32(from + 8))),
                                         _mm_setr_epi32(0, 2, 4, 6));
    const __m128i pairs = _mm_and_si128(upper, _mm_set1_epi8(3));
    return _mm_or_si128(nibbles, _mm_slli_epi16(pairs, 4));
  }
  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadRow(a, to->planes);
    LoadRow(b, to->planes + 4);
    const __m128i thirty_two = _mm_set1_epi8(32);
    const __m128i minus_first = _mm_sub_epi8(thirty_two, Scales(a + 96));
    const __m128i minus_second = _mm_sub_epi8(thirty_two, Scales(b + 96));
    to->scale[0] = TwiceByPlanes(_mm_sub_epi8(_mm_setzero_si128(), minus_first));
    to->scale[1] = TwiceByPlanes(_mm_sub_epi8(_mm_setzero_si128(), minus_second));
    to->off =
        _mm512_slli_epi16(_mm512_cvtepi8_epi16(_mm256_set_m128i(minus_second, minus_first)), 2);
    to->d = SpreadHalves<&InOrder, 0>(TwoPairs(LoadU16(a + 108), LoadU16(b + 108)));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    const __m512i sums =
        AddNeighbours(_mm512_madd_epi16(DotPlanes(group.planes, x.q), group.scale[0]),
                      _mm512_madd_epi16(DotPlanes(group.planes + 4, x.q), group.scale[1]));
    return _mm512_dpwssd_epi32(sums, _mm512_load_si512(x.sums), group.off);
  }
};

}  // namespace

DotKernel Avx512KFewBitsDot(TensorType type) {
  switch (type) {
    case TensorType::kQ2_K:
      return &DotArranged<Q2_K>;
    case TensorType::kQ3_K:
      return &DotArranged<Q3_K>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
