// AVX-512: the formats whose nibbles index sixteen levels.
#include "kernels/exact/avx512_halves.h"

namespace berth::kernels {
namespace {

// A level of a table, so far up that it is not negative.
template <int kUp>
inline __m512i Look(const int8_t (&levels)[16], __m512i nibbles) {
  const __m128i table = _mm_add_epi8(Load128(levels), _mm_set1_epi8(static_cast<char>(kUp)));
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles);
}

struct ByHalves {
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  static constexpr Lane Of(int lane) { return ByQuads(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeByQuads(q, to); }
};

struct Iq4 : ByHalves {
  static constexpr int kUp = 128, kOffset = -kUp;
  // Facts of the format: github.com/ggml-org/ggml, src/ggml-common.h (kvalues_iq4nl).
  static constexpr int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
  static __m512i Weights(__m512i nibbles) { return Look<kUp>(kLevels, nibbles); }
};

struct Iq4_Nl : Iq4 {
  static constexpr uint32_t kElements = 32, kBytes = 18;
  using Group = Halved;

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadNibbles<Iq4, kBytes, 2, kQuads>(a, b, to);
    to->d = _mm512_cvtph_ps(GatherWords<kQuads, kBytes, 0>(a, b));
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return SumLarge<kQuads>(group, x, _mm512_load_si512(x.offset));
  }
};

struct Iq4_Xs : Iq4 {
  static constexpr uint32_t kElements = 256, kBytes = 136;
  struct Group : Halved {
    __m512i scale;
  };

  // Lane l: the bits of a sub-scale, at the block's place in a word of its weight row.
  static __m512i Bits(uint32_t a, uint32_t b, int width) {
    const __m512i block = _mm512_setr_epi32(0, 4, 0, 4, 1, 5, 1, 5, 2, 6, 2, 6, 3, 7, 3, 7);
    const __m512i words =
        _mm512_mask_set1_epi32(_mm512_set1_epi32(static_cast<int>(a)), 0xcccc, static_cast<int>(b));
    return _mm512_srlv_epi32(words, _mm512_mullo_epi32(block, _mm512_set1_epi32(width)));
  }
  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadNibbles<Iq4, 16, 8, 2>(a, b, to);
    const __m512i low =
        _mm512_and_si512(Bits(LoadU32(a + 4), LoadU32(b + 4), 4), _mm512_set1_epi32(15));
    const __m512i high = _mm512_and_si512(Bits(LoadU16(a + 2) << 4, LoadU16(b + 2) << 4, 2),
                                          _mm512_set1_epi32(0x30));
    to->scale = _mm512_sub_epi32(_mm512_or_si512(low, high), _mm512_set1_epi32(32));
    to->d = SpreadHalves<&ByQuads, 0>(TwoPairs(LoadU16(a), LoadU16(b)));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return _mm512_mullo_epi32(SumLarge<2>(group, x, _mm512_load_si512(x.offset)), group.scale);
  }
};

struct E2m1 : ByHalves {
  static constexpr int kUp = 12;
  // Twice the values (OCP Microscaling Formats v1.0).
  static constexpr int8_t kLevels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  static __m512i Weights(__m512i nibbles) { return Look<kUp>(kLevels, nibbles); }
};

struct Mxfp4 : E2m1 {
  static constexpr uint32_t kElements = 32, kBytes = 17;
  static constexpr int kOffset = -kUp;
  using Group = Halved;

  // Half of 2^(e - 127); the two least are denormals.
  static __m512 HalfE8m0(__m512i e) {
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    const __m512i denormal = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
    return _mm512_castsi512_ps(
        _mm512_mask_mov_epi32(normal, _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2)), denormal));
  }
  // The words in which the scales are; those of odd blocks begin a byte before.
  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadNibbles<E2m1, kBytes, 1, kQuads>(a, b, to);
    const __m512i words = _mm512_cvtepu16_epi32(GatherWords<kQuads, kBytes, 0>(a, b));
    const __m512i odd = _mm512_set_epi32(8, 8, 8, 8, 0, 0, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0);
    const __m512i e = _mm512_and_si512(_mm512_srlv_epi32(words, odd), _mm512_set1_epi32(0xff));
    to->d = HalfE8m0(e);
    if (kQuads == 1) to->d = _mm512_maskz_mov_ps(0x5555, to->d);
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return SumLarge<kQuads>(group, x, _mm512_load_si512(x.offset));
  }
};

struct Nvfp4 : E2m1 {
  static constexpr uint32_t kElements = 64, kBytes = 36;
  static constexpr bool kTwoScales = true;
  static constexpr int kOffset = 0;
  struct Group : Halved {
    __m512 d_high;
  };

  // The nibbles of 8 bytes are 16 weights: in a block's 16 bytes, low nibbles are the first eight
  // weights of both halves.
  static void Arrange(const int8_t* q, int8_t* to) {
    for (int b = 0; b < 8; ++b) {
      int8_t* const part = to + 128 * (b / 4) + 16 * (b % 4);
      memcpy(part, q + 32 * b, 8);
      memcpy(part + 64, q + 32 * b + 8, 8);
      memcpy(part + 8, q + 32 * b + 16, 8);
      memcpy(part + 72, q + 32 * b + 24, 8);
    }
  }
  static __m512i FourBlocks(const uint8_t* from) {
    return _mm512_inserti64x4(_mm512_zextsi256_si512(Load256(from + 4)), Load256(from + kBytes + 4),
                              1);
  }
  // Half of an unsigned E4M3: denormals in units of 2^-10; 0x7f reads as zero, the top bit not.
  static __m512 HalfUe4m3(__m512i code) {
    const __m512i bits = _mm512_and_si512(code, _mm512_set1_epi32(0x7f));
    const __m512i normal =
        _mm512_add_epi32(_mm512_slli_epi32(bits, 20), _mm512_set1_epi32(119 << 23));
    const __m512 denormal = _mm512_mul_ps(_mm512_cvtepi32_ps(bits), _mm512_set1_ps(0x1p-10f));
    const __m512 value = _mm512_mask_mov_ps(
        _mm512_castsi512_ps(normal), _mm512_cmplt_epi32_mask(bits, _mm512_set1_epi32(8)), denormal);
    return _mm512_maskz_mov_ps(_mm512_cmpneq_epi32_mask(code, _mm512_set1_epi32(0x7f)), value);
  }
  // Byte `byte` of each lane.
  static __m512 Scales(__m512i codes, int byte) {
    const __m512i odd = _mm512_set_epi32(16, 16, 16, 16, 0, 0, 0, 0, 16, 16, 16, 16, 0, 0, 0, 0);
    const __m512i shift = _mm512_add_epi32(odd, _mm512_set1_epi32(8 * byte));
    return HalfUe4m3(_mm512_and_si512(_mm512_srlv_epi32(codes, shift), _mm512_set1_epi32(0xff)));
  }

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    uint32_t codes[16] = {};
    for (int lane = 0; lane < 16; ++lane) {
      const Lane from = Of(lane);
      if (from.block >= 4 * kQuads) continue;
      memcpy(codes + lane, (from.row == 0 ? a : b) + kBytes * (from.block / 2), 4);
    }
    const __m512i four = _mm512_loadu_si512(codes);
    to->d = Scales(four, 0);
    to->d_high = Scales(four, 1);
    for (int i = 0; i < 2 * kQuads; ++i) {
      const __m512i bytes = FourBlocks((i < kQuads ? a : b) + 2 * kBytes * (i % kQuads));
      const int at = 2 * (i / kQuads) + i % kQuads;
      to->first[at] = Weights(LowNibbles(bytes));
      to->second[at] = Weights(HighNibbles(bytes));
    }
  }
  // In each part two numbers a half; eight products of at most 24 * 127 fit in 16 bits.
  template <int kQuads, bool kHigh>
  static __m512i Halves(const Group& group, const Arranged& x) {
    __m512i sums[4];
    DotHalved<kQuads>(group, x, sums);
    const __m512i one = _mm512_set1_epi16(1);
    const __m512 first =
        _mm512_castsi512_ps(_mm512_madd_epi16(_mm512_packs_epi32(sums[0], sums[1]), one));
    const __m512 second =
        _mm512_castsi512_ps(_mm512_madd_epi16(_mm512_packs_epi32(sums[2], sums[3]), one));
    const __m512i halves =
        _mm512_castps_si512(_mm512_shuffle_ps(first, second, kHigh ? 0xdd : 0x88));
    const __m512i offset = _mm512_set1_epi32(kHigh ? -kUp * 65536 : -kUp & 0xffff);
    return _mm512_dpwssd_epi32(halves, _mm512_load_si512(x.sums), offset);
  }
  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    return Halves<kQuads, false>(group, x);
  }
  template <int kQuads>
  static __m512i HighIntegers(const Group& group, const Arranged& x) {
    return Halves<kQuads, true>(group, x);
  }
};

}  // namespace

DotKernel Avx512TableDot(TensorType type) {
  switch (type) {
    case TensorType::kIQ4_NL:
      return &DotArranged<Iq4_Nl>;
    case TensorType::kIQ4_XS:
      return &DotArranged<Iq4_Xs>;
    case TensorType::kMXFP4:
      return &DotArranged<Mxfp4>;
    case TensorType::kNVFP4:
      return &DotArranged<Nvfp4>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
