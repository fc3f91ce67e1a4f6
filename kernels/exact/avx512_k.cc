// AVX-512: the K formats of four to six bits, in super-blocks of 256 weights under integer
// sub-scales.
#include "kernels/exact/avx512_halves.h"

namespace berth::kernels {
namespace {

// Sub-scales and minima of Q4_K and Q5_K, six bits each, from the 16 bytes that both formats begin
// with: d and dmin, then three words (kernels/formats/k_quants.cc says what is where).
struct ScalesAndMinima {
  __m512 d, minimum;
  __m512i scales;  // bytes, eight of each row, in every part

  ScalesAndMinima(const uint8_t* a, const uint8_t* b) {
    const __m256i head = _mm256_inserti128_si256(_mm256_castsi128_si256(Load128(a)), Load128(b), 1);
    // Words 1 and 2 of a half: scales (minima) 0 to 3, then 4 to 7.
    const __m256i first = _mm256_and_si256(head, _mm256_set1_epi8(63));
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi32(head, 2), _mm256_set1_epi8(0x30));
    const __m256i lower =
        _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi32(head, 0xff),
                                           _mm256_setr_epi32(0, 0, 4, 0, 0, 0, 4, 0)),
                         _mm256_set1_epi8(15));
    const __m256i second = _mm256_or_si256(upper, lower);
    // Parts 0 and 2: the eight scales of the first row, those of the second; the others: minima.
    const __m512i words = _mm512_setr_epi32(1, 17, 5, 21, 2, 18, 6, 22, 1, 17, 5, 21, 2, 18, 6, 22);
    const __m512i all = _mm512_permutex2var_epi32(_mm512_castsi256_si512(first), words,
                                                  _mm512_castsi256_si512(second));
    scales = _mm512_shuffle_i32x4(all, all, 0x88);
    const __m512i minimum_bytes = _mm512_shuffle_i32x4(all, all, 0xdd);
    const __m128 floats = TwoPairs(LoadU32(a), LoadU32(b));
    d = SpreadHalves<&ByPairs, 0>(floats);
    const __m512i minima = _mm512_and_si512(Twice(minimum_bytes), _mm512_set1_epi32(0xffff));
    minimum = _mm512_mul_ps(SpreadHalves<&ByPairs, 1>(floats), _mm512_cvtepi32_ps(minima));
  }

  // Lane l: the number of its block, twice, as 16 bits.
  static __m512i Twice(__m512i bytes) {
    const __m512i first = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -128, 0, -128, 1, -128, 1, -128, 8, -128, 8, -128, 9, -128, 9, -128));
    // Parts 1, 2, 3 have blocks 2, 4, 6 first.
    const __m512i part = _mm512_setr_epi32(
        0, 0, 0, 0, 0x00020002, 0x00020002, 0x00020002, 0x00020002, 0x00040004, 0x00040004,
        0x00040004, 0x00040004, 0x00060006, 0x00060006, 0x00060006, 0x00060006);
    return _mm512_shuffle_epi8(bytes, _mm512_add_epi8(first, part));
  }
};

// 32 bytes of low nibbles are a block, the high nibbles the next. Part i of `first`: halves 0 of
// blocks 2 i (low nibbles) and 2 i + 1; of `second`: halves 1.
struct NibblePairs {
  __m512i first, second;

  explicit NibblePairs(const uint8_t* qs) {
    const __m512i blocks03 = Load512(qs), blocks47 = Load512(qs + 64);
    first = _mm512_shuffle_i32x4(blocks03, blocks47, 0x88);
    second = _mm512_shuffle_i32x4(blocks03, blocks47, 0xdd);
  }
};

struct BySuperBlock {
  static constexpr uint32_t kElements = 256;
  static constexpr bool kTwoScales = false;
  static constexpr int kOffset = 0;
};

struct Q4_K : BySuperBlock {
  static constexpr uint32_t kBytes = 144;
  static constexpr Minima kMinima = Minima::kBlocks;
  static constexpr Lane Of(int lane) { return ByPairs(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeByPairs(q, to); }
  struct Group : Halved {
    __m512i scale;
    __m512 minimum;
  };

  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    for (int row = 0; row < 2; ++row) {
      const NibblePairs qs((row == 0 ? a : b) + 16);
      to->first[2 * row] = LowNibbles(qs.first);
      to->second[2 * row] = LowNibbles(qs.second);
      to->first[2 * row + 1] = HighNibbles(qs.first);
      to->second[2 * row + 1] = HighNibbles(qs.second);
    }
    const ScalesAndMinima scales(a, b);
    to->d = scales.d;
    to->minimum = scales.minimum;
    to->scale = ScalesAndMinima::Twice(scales.scales);
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    __m512i sums[4];
    DotHalved<2>(group, x, sums);
    return _mm512_madd_epi16(HalfSumParts(sums[0], sums[1], sums[2], sums[3]), group.scale);
  }
};

struct Q5_K : BySuperBlock {
  static constexpr uint32_t kBytes = 176;
  static constexpr Minima kMinima = Minima::kBlocks;
  static constexpr Lane Of(int lane) { return ByPairs(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeByPairs(q, to); }
  struct Group : Halved {
    __m512i scale[2];  // scale: four times each of even blocks, odd blocks; per row
    __m512 minimum;
  };

  // 16 bytes of fifth bits: of part i's blocks bits 2 i and 2 i + 1, to be brought to bit 4.
  template <bool kOdd>
  static __m512i Join(__m512i nibbles, __m512i bits) {
    const __m512i left =
        kOdd ? _mm512_setr_epi32(3, 3, 3, 3, 1, 1, 1, 1, 31, 31, 31, 31, 29, 29, 29, 29)
             : _mm512_setr_epi32(4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0, 30, 30, 30, 30);
    // nibbles | (bits & 16)
    return _mm512_ternarylogic_epi32(nibbles, _mm512_rolv_epi32(bits, left), _mm512_set1_epi8(16),
                                     0xf8);
  }
  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    const ScalesAndMinima scales(a, b);
    to->d = scales.d;
    to->minimum = scales.minimum;
    const __m512i twice = ScalesAndMinima::Twice(scales.scales);
    for (int row = 0; row < 2; ++row) {
      const uint8_t* const from = row == 0 ? a : b;
      const NibblePairs qs(from + 48);
      const __m512i first = _mm512_broadcast_i32x4(Load128(from + 16));
      const __m512i second = _mm512_broadcast_i32x4(Load128(from + 32));
      to->first[2 * row] = Join<false>(LowNibbles(qs.first), first);
      to->second[2 * row] = Join<false>(LowNibbles(qs.second), second);
      to->first[2 * row + 1] = Join<true>(HighNibbles(qs.first), first);
      to->second[2 * row + 1] = Join<true>(HighNibbles(qs.second), second);
    }
    to->scale[0] = _mm512_unpacklo_epi32(twice, twice);
    to->scale[1] = _mm512_unpackhi_epi32(twice, twice);
  }
  // Eight products of at most 31 * 127 fit in 16 bits, sixteen do not.
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    __m512i sums[4];
    DotHalved<2>(group, x, sums);
    return AddWithinParts(_mm512_madd_epi16(_mm512_packs_epi32(sums[0], sums[1]), group.scale[0]),
                          _mm512_madd_epi16(_mm512_packs_epi32(sums[2], sums[3]), group.scale[1]));
  }
};

struct Q6_K : BySuperBlock {
  static constexpr uint32_t kBytes = 210;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr Lane Of(int lane) { return EvenOdd(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeInOrder(q, to); }
  struct Group {
    __m512i weights[8];  // 32 up, in order, of the first row, then of the second
    __m512i scale[4];    // four times each: in part i, of halves i and i + 4; i + 8 and i + 12
    __m512i off;         // -32 times the scales of the halves of a lane's block
    __m512 d;
  };

  // 64 weights: nibbles, and two bits each of 32 bytes, twice, which `shift` brings to bits 4
  // and 5.
  static __m512i Join(__m512i nibbles, __m512i bits) {
    return _mm512_ternarylogic_epi32(nibbles, bits, _mm512_set1_epi8(0x30), 0xf8);
  }
  static void LoadRow(const uint8_t* from, __m512i* weights, __m512i* scale) {
    const __m512i up = _mm512_setr_epi64(0x0004000400040004, 0x0004000400040004, 0x0004000400040004,
                                         0x0004000400040004, 0x0002000200020002, 0x0002000200020002,
                                         0x0002000200020002, 0x0002000200020002);
    const __m512i down = _mm512_sub_epi16(_mm512_set1_epi16(4), up);
    for (int i = 0; i < 2; ++i) {
      const __m512i low = Load512(from + 64 * i);
      const __m512i high = _mm512_broadcast_i64x4(Load256(from + 128 + 32 * i));
      weights[2 * i] = Join(LowNibbles(low), _mm512_sllv_epi16(high, up));
      weights[2 * i + 1] = Join(HighNibbles(low), _mm512_srlv_epi16(high, down));
    }
    // Each byte to the upper byte of a word, then down with its sign.
    const __m512i scales = _mm512_broadcast_i32x4(Load128(from + 192));
    const __m512i part =
        _mm512_setr_epi64(0, 0, 0x0100010001000100, 0x0100010001000100, 0x0200020002000200,
                          0x0200020002000200, 0x0300030003000300, 0x0300030003000300);
    for (int i = 0; i < 2; ++i) {
      const __m512i index =
          _mm512_broadcast_i32x4(_mm_set_epi64x(i == 0 ? 0x0480048004800480 : 0x0c800c800c800c80,
                                                i == 0 ? 0x0080008000800080 : 0x0880088008800880));
      scale[i] = _mm512_srai_epi16(_mm512_shuffle_epi8(scales, _mm512_add_epi8(index, part)), 8);
    }
  }
  template <int>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    LoadRow(a, to->weights, to->scale);
    LoadRow(b, to->weights + 4, to->scale + 2);
    const __m256i both =
        _mm256_inserti128_si256(_mm256_castsi128_si256(Load128(a + 192)), Load128(b + 192), 1);
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    const __m512i words = _mm512_cvtepi8_epi16(_mm256_shuffle_epi8(both, order));
    to->off = _mm512_sub_epi16(_mm512_setzero_si512(), _mm512_slli_epi16(words, 5));
    to->d = SpreadHalves<&EvenOdd, 0>(TwoPairs(LoadU16(a + 208), LoadU16(b + 208)));
  }

  // Four products of at most 63 * 127 fit in 16 bits.
  static __m512i DotRow(const __m512i* weights, const __m512i* scale, const int8_t* q) {
    __m512i sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = DotUnsigned(weights[i], Load512(q + 64 * i));
    return AddWithinParts(_mm512_madd_epi16(_mm512_packs_epi32(sums[0], sums[1]), scale[0]),
                          _mm512_madd_epi16(_mm512_packs_epi32(sums[2], sums[3]), scale[1]));
  }
  template <int>
  static __m512i Integers(const Group& group, const Arranged& x) {
    const __m512i both = AddNeighbours(DotRow(group.weights, group.scale, x.q),
                                       DotRow(group.weights + 4, group.scale + 2, x.q));
    return _mm512_dpwssd_epi32(both, _mm512_load_si512(x.sums), group.off);
  }
};

}  // namespace

DotKernel Avx512KDot(TensorType type) {
  switch (type) {
    case TensorType::kQ4_K:
      return &DotArranged<Q4_K>;
    case TensorType::kQ5_K:
      return &DotArranged<Q5_K>;
    case TensorType::kQ6_K:
      return &DotArranged<Q6_K>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
