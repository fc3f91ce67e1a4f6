// AVX2: the formats of one and two bits a weight under float scales alone.
#include "kernels/exact/avx2_halves.h"

namespace berth::kernels {
namespace {

// A bit a weight: 1 is d, 0 is -d, or twice the bit less one.
struct Q1_0 : ByHalves {
  static constexpr uint32_t kElements = 128, kBytes = 18;

  // Twice the bits of 16 weights of each part, from byte kByte on.
  template <int kByte>
  static __m256i Twice(__m256i bits) {
    return _mm256_and_si256(BitMask<kByte>(bits), _mm256_set1_epi8(2));
  }
  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    const __m256i bits = LoadParts(low + 2, high + 2);
    to->first[0] = Twice<0>(bits);
    to->second[0] = Twice<2>(bits);
    to->first[1] = Twice<4>(bits);
    to->second[1] = Twice<6>(bits);
    to->first[2] = Twice<8>(bits);
    to->second[2] = Twice<10>(bits);
    to->first[3] = Twice<12>(bits);
    to->second[3] = Twice<14>(bits);
    to->d = _mm256_cvtph_ps(_mm_set_epi64x(FourOf(high), FourOf(low)));
  }
  static int64_t FourOf(const uint8_t* from) {
    return static_cast<int64_t>(LoadU16(from) * uint64_t{0x0001000100010001});
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_add_epi32(SumSmall(group, x, Ones()), x.BlockSums(-1));
  }
};

// Bits of a byte are four weights in a row: plane p has weights 4 i + p. A part is 64 weights.
struct Q2_0 {
  static constexpr uint32_t kElements = 64, kBytes = 18;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  struct Group {
    __m256i even[4], odd[4];  // planes of blocks of 64: 0 and 2, 1 and 3
    __m256 d;
  };

  // The planes of 64 columns, 32 bytes apart.
  static void ArrangeBlock(const int8_t* q, int8_t* to) {
    const __m128i planes = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m128i of[4];
    for (int i = 0; i < 4; ++i) of[i] = _mm_shuffle_epi8(Load128(q + 16 * i), planes);
    const __m128i low01 = _mm_unpacklo_epi32(of[0], of[1]);
    const __m128i low23 = _mm_unpacklo_epi32(of[2], of[3]);
    const __m128i high01 = _mm_unpackhi_epi32(of[0], of[1]);
    const __m128i high23 = _mm_unpackhi_epi32(of[2], of[3]);
    auto* const out = reinterpret_cast<__m128i*>(to);
    _mm_store_si128(out, _mm_unpacklo_epi64(low01, low23));
    _mm_store_si128(out + 2, _mm_unpackhi_epi64(low01, low23));
    _mm_store_si128(out + 4, _mm_unpacklo_epi64(high01, high23));
    _mm_store_si128(out + 6, _mm_unpackhi_epi64(high01, high23));
  }
  static void Arrange(const int8_t* low, const int8_t* high, int8_t* to) {
    for (int i = 0; i < 2; ++i) {
      ArrangeBlock(low + 64 * i, to + 128 * i);
      ArrangeBlock(high + 64 * i, to + 128 * i + 16);
    }
  }
  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    SplitPlanes(LoadParts(low + 2, high + 2), to->even);
    SplitPlanes(LoadParts(low + kBytes + 2, high + kBytes + 2), to->odd);
    // Each for two blocks of 32.
    const uint64_t first = (LoadU16(low) | uint64_t{LoadU16(low + kBytes)} << 32) * 0x00010001;
    const uint64_t second = (LoadU16(high) | uint64_t{LoadU16(high + kBytes)} << 32) * 0x00010001;
    to->d =
        _mm256_cvtph_ps(_mm_set_epi64x(static_cast<int64_t>(second), static_cast<int64_t>(first)));
  }
  // Four numbers a block of 32.
  static __m256i Dot(const __m256i* planes, const Arranged& x, int first) {
    __m256i words = _mm256_maddubs_epi16(planes[0], x.Q(first));
    for (int p = 1; p < 4; ++p) {
      words = _mm256_add_epi16(words, _mm256_maddubs_epi16(planes[p], x.Q(first + p)));
    }
    return _mm256_madd_epi16(words, Ones());
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    const __m256i words = _mm256_packs_epi32(Dot(group.even, x, 0), Dot(group.odd, x, 4));
    return _mm256_add_epi32(_mm256_madd_epi16(words, Ones()), x.BlockSums(-1));
  }
};

struct Tq2_0 : ByHalves {
  static constexpr uint32_t kElements = 256, kBytes = 66;

  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    SplitPlanes(LoadParts(from, from + 32), to->first);
    SplitPlanes(LoadParts(from + 16, from + 48), to->second);
    to->d = _mm256_set1_ps(_cvtsh_ss(static_cast<uint16_t>(LoadU16(from + 64))));
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_add_epi32(SumSmall(group, x, Ones()), x.BlockSums(-1));
  }
};

// Digits of base 3 (kernels/formats/ternary.cc): number n of a byte is the highest of 3^n times it,
// as a fraction of 256.
struct Tq1_0 : ByHalves {
  static constexpr uint32_t kElements = 256, kBytes = 54;

  // Bytes times 16-bit numbers, modulo 256, and what digit that begins with: a third of 256 is
  // between 85 and 86.
  static __m256i Digits(__m256i bytes, __m256i factors) {
    const __m256i upper = _mm256_set1_epi16(static_cast<int16_t>(0xff00));
    const __m256i odd = _mm256_mullo_epi16(_mm256_and_si256(bytes, upper), factors);
    const __m256i fractions =
        _mm256_or_si256(_mm256_andnot_si256(upper, _mm256_mullo_epi16(bytes, factors)), odd);
    const __m256i one = _mm256_set1_epi8(1);
    return _mm256_add_epi8(
        _mm256_min_epu8(_mm256_subs_epu8(fractions, _mm256_set1_epi8(85)), one),
        _mm256_min_epu8(_mm256_subs_epu8(fractions, _mm256_set1_epi8(static_cast<char>(170))),
                        one));
  }
  static __m256i Factors(int low, int high) {
    return _mm256_set_m128i(_mm_set1_epi16(static_cast<int16_t>(high)),
                            _mm_set1_epi16(static_cast<int16_t>(low)));
  }
  // Five digits of 32 bytes, five of 16, four of 4.
  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    const __m128i a = Load128(from), b = Load128(from + 16), c = Load128(from + 32);
    const __m128i last = _mm_set1_epi32(static_cast<int>(LoadU32(from + 48)));
    const __m256i first = _mm256_set_m128i(c, a), second = _mm256_set_m128i(c, b);
    to->first[0] = Digits(_mm256_broadcastsi128_si256(a), Factors(1, 81));
    to->first[1] = Digits(first, Factors(3, 1));
    to->first[2] = Digits(first, Factors(9, 9));
    to->first[3] = Digits(first, Factors(27, 81));
    to->second[0] = Digits(_mm256_broadcastsi128_si256(b), Factors(1, 81));
    to->second[1] = Digits(second, Factors(3, 3));
    to->second[2] = Digits(second, Factors(9, 27));
    to->second[3] = Digits(_mm256_set_m128i(last, b),
                           _mm256_setr_epi32(0x001b001b, 0x001b001b, 0x001b001b, 0x001b001b,
                                             0x00010001, 0x00030003, 0x00090009, 0x001b001b));
    to->d = _mm256_set1_ps(_cvtsh_ss(static_cast<uint16_t>(LoadU16(from + 52))));
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_add_epi32(SumSmall(group, x, Ones()), x.BlockSums(-1));
  }
};

}  // namespace

DotKernel Avx2FewBitsDot(TensorType type) {
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
