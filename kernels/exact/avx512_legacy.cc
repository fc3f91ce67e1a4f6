// AVX-512: the formats with one F16 scale (and one F16 minimum) per 32 weights.
#include "kernels/exact/avx512_halves.h"

namespace berth::kernels {
namespace {

struct ByHalves {
  static constexpr uint32_t kElements = 32;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  static constexpr Lane Of(int lane) { return ByQuads(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeByQuads(q, to); }
  using Group = Halved;

  static __m512i Weights(__m512i nibbles) { return nibbles; }
};

struct Q4_0 : ByHalves {
  static constexpr uint32_t kBytes = 18;
  static constexpr int kOffset = -8;

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadNibbles<Q4_0, kBytes, 2, kQuads>(a, b, to);
    to->d = _mm512_cvtph_ps(GatherWords<kQuads, kBytes, 0>(a, b));
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return SumSmall<kQuads>(group, x, _mm512_load_si512(x.offset));
  }
};

// The minimum is added: minus its opposite.
struct WithMinimum : ByHalves {
  static constexpr Minima kMinima = Minima::kBlocks;
  struct Group : Halved {
    __m512 minimum;
  };
  // Of the minima's words.
  static __m512 Opposite(__m256i words) {
    return _mm512_xor_ps(_mm512_cvtph_ps(words), _mm512_set1_ps(-0.0f));
  }
};

struct Q4_1 : WithMinimum {
  static constexpr uint32_t kBytes = 20;

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadNibbles<Q4_1, kBytes, 4, kQuads>(a, b, to);
    to->d = _mm512_cvtph_ps(GatherWords<kQuads, kBytes, 0>(a, b));
    to->minimum = Opposite(GatherWords<kQuads, kBytes, 2>(a, b));
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return SumSmall<kQuads>(group, x, _mm512_setzero_si512());
  }
};

// The fifth bits of half 0 (1) of four blocks.
template <int kBytes>
inline __mmask64 FifthBits(const uint8_t* from) {
  uint64_t bits = 0;
  for (int b = 0; b < 4; ++b) {
    uint16_t sixteen;
    memcpy(&sixteen, from + kBytes * b, sizeof(sixteen));
    bits |= static_cast<uint64_t>(sixteen) << (16 * b);
  }
  return bits;
}
// `first`: of the fifth bits.
template <int kBytes, int kFirst, int kQuads>
inline void AddFifthBits(const uint8_t* a, const uint8_t* b, Halved* to) {
  const __m512i sixteen = _mm512_set1_epi8(16);
  for (int i = 0; i < 2 * kQuads; ++i) {
    const uint8_t* const row = i < kQuads ? a : b;
    const int at = 2 * (i / kQuads) + i % kQuads;
    const uint8_t* const from = row + 4 * kBytes * (i % kQuads) + kFirst;
    to->first[at] =
        _mm512_mask_add_epi8(to->first[at], FifthBits<kBytes>(from), to->first[at], sixteen);
    to->second[at] =
        _mm512_mask_add_epi8(to->second[at], FifthBits<kBytes>(from + 2), to->second[at], sixteen);
  }
}

struct Q5_0 : ByHalves {
  static constexpr uint32_t kBytes = 22;
  static constexpr int kOffset = -16;

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadNibbles<Q5_0, kBytes, 6, kQuads>(a, b, to);
    AddFifthBits<kBytes, 2, kQuads>(a, b, to);
    to->d = _mm512_cvtph_ps(GatherWords<kQuads, kBytes, 0>(a, b));
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return SumLarge<kQuads>(group, x, _mm512_load_si512(x.offset));
  }
};

struct Q5_1 : WithMinimum {
  static constexpr uint32_t kBytes = 24;

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadNibbles<Q5_1, kBytes, 8, kQuads>(a, b, to);
    AddFifthBits<kBytes, 4, kQuads>(a, b, to);
    to->d = _mm512_cvtph_ps(GatherWords<kQuads, kBytes, 0>(a, b));
    to->minimum = Opposite(GatherWords<kQuads, kBytes, 2>(a, b));
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return SumLarge<kQuads>(group, x, _mm512_setzero_si512());
  }
};

struct Q8_0 : ByHalves {
  static constexpr uint32_t kBytes = 34;
  static constexpr int kOffset = -128;

  // Two blocks in their order.
  static __m512i LoadPair(const uint8_t* from) {
    const __m512i pair = _mm512_inserti64x4(_mm512_zextsi256_si512(Load256(from + 2)),
                                            Load256(from + kBytes + 2), 1);
    return _mm512_xor_si512(pair, _mm512_set1_epi8(-128));
  }
  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    for (int i = 0; i < 2 * kQuads; ++i) {
      const uint8_t* const from = (i < kQuads ? a : b) + 4 * kBytes * (i % kQuads);
      const __m512i blocks01 = LoadPair(from), blocks23 = LoadPair(from + 2 * kBytes);
      const int at = 2 * (i / kQuads) + i % kQuads;
      to->first[at] = _mm512_shuffle_i32x4(blocks01, blocks23, 0x88);
      to->second[at] = _mm512_shuffle_i32x4(blocks01, blocks23, 0xdd);
    }
    to->d = _mm512_cvtph_ps(GatherWords<kQuads, kBytes, 0>(a, b));
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return SumLarge<kQuads>(group, x, _mm512_load_si512(x.offset));
  }
};

}  // namespace

DotKernel Avx512LegacyDot(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return &DotArranged<Q4_0>;
    case TensorType::kQ4_1:
      return &DotArranged<Q4_1>;
    case TensorType::kQ5_0:
      return &DotArranged<Q5_0>;
    case TensorType::kQ5_1:
      return &DotArranged<Q5_1>;
    case TensorType::kQ8_0:
      return &DotArranged<Q8_0>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
