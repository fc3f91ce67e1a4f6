// AVX-512: the formats of one and two bits a weight under float scales alone.
#include "kernels/exact/avx512_halves.h"
#include "kernels/exact/avx512_planes.h"

namespace berth::kernels {
namespace {

// A bit a weight: 1 is d, 0 is -d, or twice the bit less one.
struct Q1_0 {
  static constexpr uint32_t kElements = 128, kBytes = 18;
  static constexpr bool kMinima = false, kTwoScales = false;
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
  static __m512i DotRow(const __m512i* weights, const int8_t* q) {
    const __m512i sums = HalfSumParts(
        DotUnsigned(weights[0], Load512(q)), DotUnsigned(weights[1], Load512(q + 64)),
        DotUnsigned(weights[2], Load512(q + 128)), DotUnsigned(weights[3], Load512(q + 192)));
    return _mm512_madd_epi16(sums, _mm512_set1_epi16(1));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    const __m512i sums = AddNeighbours(DotRow(group.first, x.q), DotRow(group.second, x.q));
    return _mm512_add_epi32(sums, _mm512_load_si512(x.offset));
  }
};

// Bits of a byte are four weights in a row: plane p has weights 4 i + p. A part is 64 weights.
struct Q2_0 {
  static constexpr uint32_t kElements = 64, kBytes = 18;
  static constexpr bool kMinima = false, kTwoScales = false;
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
    uint64_t words[4] = {};  // scales of a part: first row twice, second row twice
    for (int part = 0; part < 2 * kQuads; ++part) {
      words[part] =
          (LoadU16(a + kBytes * part) | uint64_t{LoadU16(b + kBytes * part)} << 32) * 0x00010001;
    }
    to->d = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
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
  static constexpr bool kMinima = false;
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

}  // namespace

DotKernel Avx512FewBitsDot(TensorType type) {
  switch (type) {
    case TensorType::kQ1_0:
      return &DotArranged<Q1_0>;
    case TensorType::kQ2_0:
      return &DotArranged<Q2_0>;
    case TensorType::kTQ2_0:
      return &DotArranged<Tq2_0>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
