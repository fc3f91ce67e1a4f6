// AVX-512: the formats of one and two bits a weight under float scales alone.
#include "kernels/exact/avx512_halves.h"
#include "kernels/exact/avx512_planes.h"

namespace berth::kernels {
namespace {

// 256 small weights in order: what AddNeighbours takes.
inline __m512i DotInOrder(const __m512i* weights, const int8_t* q) {
  return _mm512_madd_epi16(DotPlanes(weights, q), _mm512_set1_epi16(1));
}

// A bit a weight: 1 is d, 0 is -d, or twice the bit less one.
struct Q1_0 {
  static constexpr uint32_t kElements = 128, kBytes = 18;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  static constexpr int kOffset = -1;
  static constexpr Lane Of(int lane) { return EvenOdd(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeInOrder(q, to); }
  struct Group {
    __m512i first[4], second[4];  // 64 weights each of the first row, of the second
    __m512 d;
  };

  static __m512i Twice(const uint8_t* from) {
    uint64_t bits;
    memcpy(&bits, from, sizeof(bits));
    return _mm512_maskz_mov_epi8(bits, _mm512_set1_epi8(2));
  }
  // The scales of a row's even (and of its odd) blocks of 32.
  template <int kQuads>
  static uint64_t LoadRow(const uint8_t* from, __m512i* to) {
    to[0] = Twice(from + 2);
    to[1] = Twice(from + 10);
    to[2] = kQuads == 2 ? Twice(from + kBytes + 2) : _mm512_setzero_si512();
    to[3] = kQuads == 2 ? Twice(from + kBytes + 10) : _mm512_setzero_si512();
    const uint64_t second = kQuads == 2 ? LoadU16(from + kBytes) : 0;
    return (second << 32 | LoadU16(from)) * 0x00010001;
  }
  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    const auto first = static_cast<int64_t>(LoadRow<kQuads>(a, to->first));
    const auto second = static_cast<int64_t>(LoadRow<kQuads>(b, to->second));
    to->d = _mm512_cvtph_ps(_mm256_setr_epi64x(first, first, second, second));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    const __m512i sums = AddNeighbours(DotInOrder(group.first, x.q), DotInOrder(group.second, x.q));
    return _mm512_add_epi32(sums, _mm512_load_si512(x.offset));
  }
};

// Bits of a byte are four weights in a row: plane p has weights 4 i + p. A part is 64 weights.
struct Q2_0 {
  static constexpr uint32_t kElements = 64, kBytes = 18;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  static constexpr int kOffset = -1;
  static constexpr Lane Of(int lane) { return ByPairs(lane); }
  static void Arrange(const int8_t* q, int8_t* to) {
    const __m128i planes = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (int part = 0; part < 4; ++part) {
      __m128i of[4];
      for (int i = 0; i < 4; ++i) {
        of[i] = _mm_shuffle_epi8(Load128(q + 64 * part + 16 * i), planes);
      }
      const __m128i low01 = _mm_unpacklo_epi32(of[0], of[1]);
      const __m128i low23 = _mm_unpacklo_epi32(of[2], of[3]);
      const __m128i high01 = _mm_unpackhi_epi32(of[0], of[1]);
      const __m128i high23 = _mm_unpackhi_epi32(of[2], of[3]);
      auto* const out = reinterpret_cast<__m128i*>(to + 16 * part);
      _mm_store_si128(out, _mm_unpacklo_epi64(low01, low23));
      _mm_store_si128(out + 4, _mm_unpackhi_epi64(low01, low23));
      _mm_store_si128(out + 8, _mm_unpacklo_epi64(high01, high23));
      _mm_store_si128(out + 12, _mm_unpackhi_epi64(high01, high23));
    }
  }
  struct Group {
    __m512i first[4], second[4];  // planes of the first row, of the second
    __m512 d;
  };

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    SplitPlanes(kQuads == 2 ? LoadFour<kBytes>(a + 2) : LoadTwo<kBytes>(a + 2), to->first);
    SplitPlanes(kQuads == 2 ? LoadFour<kBytes>(b + 2) : LoadTwo<kBytes>(b + 2), to->second);
    // Scales, one a block of 64: twice the first row's, twice the second's.
    const __m512i twice = _mm512_castsi256_si512(
        _mm256_setr_epi16(0, 0, 0, 0, 9, 9, 9, 9, 18, 18, 18, 18, 27, 27, 27, 27));
    const __m512i first = kQuads == 2 ? Load512(a) : _mm512_zextsi256_si512(Load256(a));
    const __m512i second = kQuads == 2 ? Load512(b) : _mm512_zextsi256_si512(Load256(b));
    const __m512i words = _mm512_mask_permutexvar_epi16(_mm512_permutexvar_epi16(twice, first),
                                                        0xcccccccc, twice, second);
    to->d = _mm512_cvtph_ps(_mm512_castsi512_si256(words));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    __m512i first = DotUnsigned(group.first[0], Load512(x.q));
    __m512i second = DotUnsigned(group.second[0], Load512(x.q));
    for (int p = 1; p < 4; ++p) {
      first = _mm512_dpbusd_epi32(first, group.first[p], Load512(x.q + 64 * p));
      second = _mm512_dpbusd_epi32(second, group.second[p], Load512(x.q + 64 * p));
    }
    return _mm512_dpwssd_epi32(_mm512_load_si512(x.offset), _mm512_packs_epi32(first, second),
                               _mm512_set1_epi16(1));
  }
};

struct Tq2_0 : ByPlanes {
  static constexpr uint32_t kBytes = 66;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr int kOffset = -1;
  struct Group {
    __m512i planes[8];
    __m512 d;
  };

  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    SplitPlanes(Load512(a), to->planes);
    SplitPlanes(Load512(b), to->planes + 4);
    to->d = SpreadHalves<&InOrder, 0>(TwoPairs(LoadU16(a + 64), LoadU16(b + 64)));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    const __m512i one = _mm512_set1_epi16(1);
    const __m512i sums = AddNeighbours(_mm512_madd_epi16(DotPlanes(group.planes, x.q), one),
                                       _mm512_madd_epi16(DotPlanes(group.planes + 4, x.q), one));
    return _mm512_add_epi32(sums, _mm512_load_si512(x.offset));
  }
};

// Digits of base 3 (kernels/formats/ternary.cc): number n of a byte is the highest of 3^n times it,
// as a fraction of 256.
struct Tq1_0 {
  static constexpr uint32_t kElements = 256, kBytes = 54;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  static constexpr int kOffset = -1;
  static constexpr Lane Of(int lane) { return EvenOdd(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeInOrder(q, to); }
  struct Group {
    __m512i first[4], second[4];  // 64 weights each of the first row, of the second
    __m512 d;
  };

  // Bytes times 16-bit numbers, modulo 256, and what digit that begins with: a third of 256 is
  // between 85 and 86.
  static __m512i Digits(__m512i bytes, __m512i factors) {
    const __m512i upper = _mm512_set1_epi16(static_cast<int16_t>(0xff00));
    const __m512i odd = _mm512_mullo_epi16(_mm512_and_si512(bytes, upper), factors);
    const __m512i fractions =
        _mm512_or_si512(_mm512_andnot_si512(upper, _mm512_mullo_epi16(bytes, factors)), odd);
    const __m512i one = _mm512_set1_epi8(1);
    return _mm512_add_epi8(
        _mm512_min_epu8(_mm512_subs_epu8(fractions, _mm512_set1_epi8(85)), one),
        _mm512_min_epu8(_mm512_subs_epu8(fractions, _mm512_set1_epi8(static_cast<char>(170))),
                        one));
  }
  // A factor for each part.
  static __m512i Factors(int a, int b, int c, int d) {
    const __m512i parts = _mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);
    return _mm512_or_si512(parts, _mm512_slli_epi32(parts, 16));
  }
  // Five digits of 32 bytes, five of 16, four of 4.
  static void LoadRow(const uint8_t* from, __m512i* to) {
    const __m256i a = Load256(from);
    const __m128i b = Load128(from + 32);
    const __m128i c = _mm_set1_epi32(static_cast<int>(LoadU32(from + 48)));
    const __m256i twice = _mm256_broadcastsi128_si256(b);
    to[0] = Digits(_mm512_broadcast_i64x4(a), Factors(1, 1, 3, 3));
    to[1] = Digits(_mm512_broadcast_i64x4(a), Factors(9, 9, 27, 27));
    to[2] = Digits(_mm512_inserti64x4(_mm512_castsi256_si512(a), twice, 1), Factors(81, 81, 1, 3));
    const __m512i last =
        _mm512_mask_mov_epi32(Factors(9, 27, 81, 0), 0xf000,
                              _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00010001,
                                                0x00030003, 0x00090009, 0x001b001b));
    to[3] =
        Digits(_mm512_inserti64x4(_mm512_castsi256_si512(twice), _mm256_set_m128i(c, b), 1), last);
  }
  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadRow(a, to->first);
    LoadRow(b, to->second);
    to->d = SpreadHalves<&EvenOdd, 0>(TwoPairs(LoadU16(a + 52), LoadU16(b + 52)));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    const __m512i sums = AddNeighbours(DotInOrder(group.first, x.q), DotInOrder(group.second, x.q));
    return _mm512_add_epi32(sums, _mm512_load_si512(x.offset));
  }
};

}  // namespace

DotKernel Avx512FewBitsDot(TensorType type) {
  switch (type) {
    case TensorType::kQ1_0:
      return &DotArranged<Q1_0>;
    case TensorType::kQ2_0:
      return &DotArranged<Q2_0>;
    case TensorType::kTQ1_0:
      return &DotArranged<Tq1_0>;
    case TensorType::kTQ2_0:
      return &DotArranged<Tq2_0>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
