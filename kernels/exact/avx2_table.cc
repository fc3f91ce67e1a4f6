// AVX2: the formats whose nibbles index sixteen levels.
#include "kernels/exact/avx2_halves.h"

namespace berth::kernels {
namespace {

inline __m256i Look(__m128i levels, __m256i nibbles) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(levels), nibbles);
}

struct Iq4 : ByHalves {
  // Facts of the format: github.com/ggml-org/ggml, src/ggml-common.h (kvalues_iq4nl).
  static __m256i Weights(__m256i nibbles) {
    return Look(
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113),
        nibbles);
  }
};

struct Iq4_Nl : Iq4 {
  static constexpr uint32_t kElements = 32, kBytes = 18;

  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    LoadNibbles<Iq4, kBytes, 2>(low, high, to);
    to->d = _mm256_cvtph_ps(GatherWords<kBytes, 0>(low, high));
  }
  static __m256i Integers(const Group& group, const Arranged& x) { return SumSigned(group, x); }
};

struct Iq4_Xs : Iq4 {
  static constexpr uint32_t kElements = 256, kBytes = 136;
  struct Group : Halved {
    __m256i scale;
  };

  static void Load(const uint8_t* from, const uint8_t*, Group* to) {
    LoadNibbles<Iq4, 16, 0>(from + 8, from + 72, to);
    const __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(LoadU32(from + 4))),
                                          _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i high =
        _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(LoadU16(from + 2) << 4)),
                          _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    const __m256i six = _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                                        _mm256_and_si256(high, _mm256_set1_epi32(0x30)));
    to->scale = _mm256_sub_epi32(six, _mm256_set1_epi32(32));
    to->d = _mm256_set1_ps(_cvtsh_ss(static_cast<uint16_t>(LoadU16(from))));
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_mullo_epi32(SumSigned(group, x), group.scale);
  }
};

// The levels are 12 up, so that they are not negative.
struct E2m1 : ByHalves {
  static constexpr int kUp = 12;
  // Twice the values (OCP Microscaling Formats v1.0).
  static __m256i Weights(__m256i nibbles) {
    return Look(_mm_add_epi8(_mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12),
                             _mm_set1_epi8(kUp)),
                nibbles);
  }
};

struct Mxfp4 : E2m1 {
  static constexpr uint32_t kElements = 32, kBytes = 17;

  // Half of 2^(e - 127); the two least are denormals.
  static __m256 HalfE8m0(__m256i e) {
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i denormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    return _mm256_castsi256_ps(
        _mm256_blendv_epi8(normal, denormal, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e)));
  }
  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    LoadNibbles<E2m1, kBytes, 1>(low, high, to);
    const __m256i words = _mm256_cvtepu16_epi32(GatherWords<kBytes, 0>(low, high));
    to->d = HalfE8m0(_mm256_and_si256(words, _mm256_set1_epi32(0xff)));
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_add_epi32(SumMedium(group, x), x.BlockSums(-kUp));
  }
};

struct Nvfp4 : E2m1 {
  static constexpr uint32_t kElements = 64, kBytes = 36;
  static constexpr bool kTwoScales = true;
  struct Group : Halved {
    __m256 d_high;
  };

  // The nibbles of 8 bytes are 16 weights: in a block's 16 bytes, low nibbles are the first eight
  // weights of both halves.
  static void Arrange(const int8_t* low, const int8_t* high, int8_t* to) {
    for (int nibble = 0; nibble < 2; ++nibble) {
      for (int i = 0; i < 4; ++i, to += 32) {
        memcpy(to, low + 32 * i + 8 * nibble, 8);
        memcpy(to + 8, low + 32 * i + 8 * nibble + 16, 8);
        memcpy(to + 16, high + 32 * i + 8 * nibble, 8);
        memcpy(to + 24, high + 32 * i + 8 * nibble + 16, 8);
      }
    }
  }
  // Half of an unsigned E4M3: denormals in units of 2^-10; 0x7f reads as zero, the top bit not.
  static __m256 HalfUe4m3(__m256i code) {
    const __m256i bits = _mm256_and_si256(code, _mm256_set1_epi32(0x7f));
    const __m256i normal =
        _mm256_add_epi32(_mm256_slli_epi32(bits, 20), _mm256_set1_epi32(119 << 23));
    const __m256 denormal = _mm256_mul_ps(_mm256_cvtepi32_ps(bits), _mm256_set1_ps(0x1p-10f));
    const __m256 value =
        _mm256_blendv_ps(_mm256_castsi256_ps(normal), denormal,
                         _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(8), bits)));
    return _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(code, _mm256_set1_epi32(0x7f))),
                            value);
  }
  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    // Four scales of 16 weights, two to a block.
    const __m128i words =
        _mm_setr_epi32(static_cast<int>(LoadU32(low)), static_cast<int>(LoadU32(low + kBytes)),
                       static_cast<int>(LoadU32(high)), static_cast<int>(LoadU32(high + kBytes)));
    const __m256i pairs = _mm256_cvtepu16_epi32(words);
    const __m256i byte = _mm256_set1_epi32(0xff);
    to->d = HalfUe4m3(_mm256_and_si256(pairs, byte));
    to->d_high = HalfUe4m3(_mm256_srli_epi32(pairs, 8));
    for (int i = 0; i < 4; ++i) {
      const int at = kBytes * (i / 2) + 4 + 16 * (i % 2);
      const __m256i bytes = LoadParts(low + at, high + at);
      to->first[i] = Weights(LowNibbles(bytes));
      to->second[i] = Weights(HighNibbles(bytes));
    }
  }
  // In each part of `ab` and `cd`, two numbers a half.
  template <bool kHigh>
  static __m256i Halves(const Group& group, const Arranged& x) {
    __m256i sums[4];
    for (int i = 0; i < 4; ++i) {
      sums[i] = _mm256_madd_epi16(
          _mm256_add_epi16(FirstWords(group, x, i), SecondWords(group, x, i)), Ones());
    }
    const __m256 ab =
        _mm256_castsi256_ps(_mm256_madd_epi16(_mm256_packs_epi32(sums[0], sums[1]), Ones()));
    const __m256 cd =
        _mm256_castsi256_ps(_mm256_madd_epi16(_mm256_packs_epi32(sums[2], sums[3]), Ones()));
    const __m256i halves = _mm256_castps_si256(_mm256_shuffle_ps(ab, cd, kHigh ? 0xdd : 0x88));
    const __m256i up = _mm256_set1_epi32(kHigh ? kUp << 16 : kUp);
    return _mm256_sub_epi32(halves, _mm256_madd_epi16(x.Sums(), up));
  }
  static __m256i Integers(const Group& group, const Arranged& x) { return Halves<false>(group, x); }
  static __m256i HighIntegers(const Group& group, const Arranged& x) {
    return Halves<true>(group, x);
  }
};

}  // namespace

DotKernel Avx2TableDot(TensorType type) {
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
