// AVX2: the K formats of four to six bits, in super-blocks of 256 weights under integer sub-scales.
#include "kernels/exact/avx2_halves.h"

namespace berth::kernels {
namespace {

// Sub-scales and minima of Q4_K and Q5_K, six bits each, after d and dmin
// (kernels/formats/k_quants.cc says what is where).
struct ScalesAndMinima : Halved {
  __m256i scale;  // one for each half of a block
  __m256 minimum;

  static __m128i Eight(uint32_t first, uint32_t second) {
    return _mm_cvtsi64_si128(static_cast<int64_t>(uint64_t{second} << 32 | first));
  }
  void LoadScales(const uint8_t* from) {
    const uint32_t a = LoadU32(from + 4), b = LoadU32(from + 8), c = LoadU32(from + 12);
    const __m128i scales = Eight(a & 0x3f3f3f3f, (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030));
    scale = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(scales, scales));
    const __m256i minima =
        _mm256_cvtepu8_epi32(Eight(b & 0x3f3f3f3f, (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030)));
    const __m128 both = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(LoadU32(from))));
    d = _mm256_broadcastss_ps(both);
    minimum =
        _mm256_mul_ps(_mm256_broadcastss_ps(_mm_movehdup_ps(both)), _mm256_cvtepi32_ps(minima));
  }
};

// 32 bytes of low nibbles are a block, the high nibbles the next.
inline void LoadNibblePairs(const uint8_t* qs, Halved* to) {
  for (int i = 0; i < 2; ++i, qs += 32) {
    const __m256i first = LoadParts(qs, qs + 64), second = LoadParts(qs + 16, qs + 80);
    to->first[2 * i] = LowNibbles(first);
    to->first[2 * i + 1] = HighNibbles(first);
    to->second[2 * i] = LowNibbles(second);
    to->second[2 * i + 1] = HighNibbles(second);
  }
}

struct WithMinima : ByHalves {
  static constexpr uint32_t kElements = 256;
  static constexpr Minima kMinima = Minima::kBlocks;
  using Group = ScalesAndMinima;
};

struct Q4_K : WithMinima {
  static constexpr uint32_t kBytes = 144;

  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    to->LoadScales(from);
    LoadNibblePairs(from + 16, to);
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return SumSmall(group, x, group.scale);
  }
};

// Bit i of a byte of the first part's, bit i + 4 of one of the second's, to bit kTo.
template <int kTo>
inline void JoinBits(const uint8_t* bits, int half, __m256i* weights) {
  const __m256i shift = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
  const __m256i own = _mm256_srlv_epi32(LoadParts(bits + 16 * half, bits + 16 * half), shift);
  for (int i = 0; i < 4; ++i) {
    const __m256i placed =
        i < kTo ? _mm256_slli_epi16(own, kTo - i) : _mm256_srli_epi16(own, i - kTo);
    weights[i] = _mm256_or_si256(weights[i], _mm256_and_si256(placed, _mm256_set1_epi8(1 << kTo)));
  }
}

struct Q5_K : WithMinima {
  static constexpr uint32_t kBytes = 176;

  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    to->LoadScales(from);
    LoadNibblePairs(from + 48, to);
    JoinBits<4>(from + 16, 0, to->first);
    JoinBits<4>(from + 16, 1, to->second);
  }
  // Eight products of at most 31 * 127 fit in 16 bits, sixteen do not.
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_mullo_epi32(SumMedium(group, x),
                              _mm256_and_si256(group.scale, _mm256_set1_epi32(0xffff)));
  }
};

// Sub-scales of halves: one of both parts' halves in all of the part's 16-bit numbers.
struct HalfScales : Halved {
  __m256i scale;  // in order

  __m256i Scale(int i, int half) const {
    return _mm256_shuffle_epi8(
        scale, _mm256_set1_epi16(static_cast<int16_t>(0x0100 + 0x0202 * (2 * i + half))));
  }
  __m256i Sum(const Arranged& x) const {
    __m256i sums[4];
    for (int i = 0; i < 4; ++i) {
      sums[i] = _mm256_add_epi32(_mm256_madd_epi16(FirstWords(*this, x, i), Scale(i, 0)),
                                 _mm256_madd_epi16(SecondWords(*this, x, i), Scale(i, 1)));
    }
    return SumParts(sums);
  }
};

inline __m256 BroadcastHalf(const uint8_t* from) {
  return _mm256_set1_ps(_cvtsh_ss(static_cast<uint16_t>(LoadU16(from))));
}

struct Q6_K : ByHalves {
  static constexpr uint32_t kElements = 256, kBytes = 210;
  using Group = HalfScales;

  // 128 weights: 64 bytes of nibbles, low ones first, and 32 bytes of pairs of bits.
  static void LoadHalf(const uint8_t* ql, const uint8_t* qh, __m256i* to) {
    const __m256i even = LoadParts(ql, ql + 64), odd = LoadParts(ql + 32, ql + 96);
    __m256i high[4];
    SplitPlanes(LoadParts(qh, qh + 32), high);
    to[0] = _mm256_or_si256(LowNibbles(even), _mm256_slli_epi16(high[0], 4));
    to[1] = _mm256_or_si256(LowNibbles(odd), _mm256_slli_epi16(high[1], 4));
    to[2] = _mm256_or_si256(HighNibbles(even), _mm256_slli_epi16(high[2], 4));
    to[3] = _mm256_or_si256(HighNibbles(odd), _mm256_slli_epi16(high[3], 4));
  }
  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    LoadHalf(from, from + 128, to->first);
    LoadHalf(from + 16, from + 144, to->second);
    to->scale = _mm256_cvtepi8_epi16(Load128(from + 192));
    to->d = BroadcastHalf(from + 208);
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    const __m256i off = _mm256_slli_epi32(_mm256_madd_epi16(group.scale, x.Sums()), 5);
    return _mm256_sub_epi32(group.Sum(x), off);
  }
};

struct Q2_K : ByHalves {
  static constexpr uint32_t kElements = 256, kBytes = 84;
  static constexpr Minima kMinima = Minima::kHalves;
  struct Group : HalfScales {
    __m256 minimum, minimum_high;
  };

  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    SplitPlanes(LoadParts(from + 16, from + 48), to->first);
    SplitPlanes(LoadParts(from + 32, from + 64), to->second);
    const __m256i both = _mm256_cvtepu8_epi16(Load128(from));
    to->scale = _mm256_and_si256(both, _mm256_set1_epi16(15));
    const __m256i minima = _mm256_srli_epi16(both, 4);
    const __m256 dmin = BroadcastHalf(from + 82);
    const __m256i first = _mm256_and_si256(minima, _mm256_set1_epi32(0xffff));
    to->minimum = _mm256_mul_ps(dmin, _mm256_cvtepi32_ps(first));
    to->minimum_high = _mm256_mul_ps(dmin, _mm256_cvtepi32_ps(_mm256_srli_epi32(minima, 16)));
    to->d = BroadcastHalf(from + 80);
  }
  static __m256i Integers(const Group& group, const Arranged& x) { return group.Sum(x); }
};

struct Q3_K : ByHalves {
  static constexpr uint32_t kElements = 256, kBytes = 110;
  using Group = HalfScales;

  // Sixteen of six bits, 32 up (kernels/formats/k_quants.cc says what is where).
  static __m256i Scales(const uint8_t* from) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m128i nibbles =
        _mm_and_si128(_mm_unpacklo_epi64(low, _mm_srli_epi64(low, 4)), _mm_set1_epi8(15));
    const __m128i upper = _mm_srlv_epi32(_mm_set1_epi32(static_cast<int>(LoadU32(from + 8))),
                                         _mm_setr_epi32(0, 2, 4, 6));
    const __m128i six =
        _mm_or_si128(nibbles, _mm_slli_epi16(_mm_and_si128(upper, _mm_set1_epi8(3)), 4));
    return _mm256_cvtepi8_epi16(_mm_sub_epi8(six, _mm_set1_epi8(32)));
  }
  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    SplitPlanes(LoadParts(from + 32, from + 64), to->first);
    SplitPlanes(LoadParts(from + 48, from + 80), to->second);
    JoinBits<2>(from, 0, to->first);
    JoinBits<2>(from, 1, to->second);
    to->scale = Scales(from + 96);
    to->d = BroadcastHalf(from + 108);
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    const __m256i off = _mm256_slli_epi32(_mm256_madd_epi16(group.scale, x.Sums()), 2);
    return _mm256_sub_epi32(group.Sum(x), off);
  }
};

}  // namespace

DotKernel Avx2KDot(TensorType type) {
  switch (type) {
    case TensorType::kQ2_K:
      return &DotArranged<Q2_K>;
    case TensorType::kQ3_K:
      return &DotArranged<Q3_K>;
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
