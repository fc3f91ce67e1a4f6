// AVX2: the formats with one F16 scale (and one F16 minimum) per 32 weights.
#include "kernels/exact/avx2_halves.h"

namespace berth::kernels {
namespace {

struct Q4_0 : ByHalves {
  static constexpr uint32_t kElements = 32, kBytes = 18;

  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    LoadNibbles<ByHalves, kBytes, 2>(low, high, to);
    to->d = _mm256_cvtph_ps(GatherWords<kBytes, 0>(low, high));
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_add_epi32(SumSmall(group, x, Ones()), x.BlockSums(-8));
  }
};

// The minimum is added: minus its opposite.
struct WithMinimum : ByHalves {
  static constexpr uint32_t kElements = 32;
  static constexpr Minima kMinima = Minima::kBlocks;
  struct Group : Halved {
    __m256 minimum;
  };
  template <int kBytes>
  static void LoadScales(const uint8_t* low, const uint8_t* high, Group* to) {
    to->d = _mm256_cvtph_ps(GatherWords<kBytes, 0>(low, high));
    to->minimum =
        _mm256_xor_ps(_mm256_cvtph_ps(GatherWords<kBytes, 2>(low, high)), _mm256_set1_ps(-0.0f));
  }
};

struct Q4_1 : WithMinimum {
  static constexpr uint32_t kBytes = 20;

  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    LoadNibbles<ByHalves, kBytes, 4>(low, high, to);
    LoadScales<kBytes>(low, high, to);
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return SumSmall(group, x, Ones());
  }
};

// Sixteen more where a weight has its bit.
template <int kByte>
inline __m256i Join(__m256i nibbles, __m256i bits) {
  return _mm256_or_si256(nibbles, _mm256_and_si256(BitMask<kByte>(bits), _mm256_set1_epi8(16)));
}
// The fifth bits are the four bytes from kFirst on.
template <int kBytes, int kFirst>
inline void AddFifthBits(const uint8_t* low, const uint8_t* high, Halved* to) {
  for (int i = 0; i < 4; ++i) {
    const int a = static_cast<int>(LoadU32(low + kBytes * i + kFirst));
    const int b = static_cast<int>(LoadU32(high + kBytes * i + kFirst));
    const __m256i bits = _mm256_set_m128i(_mm_cvtsi32_si128(b), _mm_cvtsi32_si128(a));
    to->first[i] = Join<0>(to->first[i], bits);
    to->second[i] = Join<2>(to->second[i], bits);
  }
}

struct Q5_0 : ByHalves {
  static constexpr uint32_t kElements = 32, kBytes = 22;

  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    LoadNibbles<ByHalves, kBytes, 6>(low, high, to);
    AddFifthBits<kBytes, 2>(low, high, to);
    to->d = _mm256_cvtph_ps(GatherWords<kBytes, 0>(low, high));
  }
  static __m256i Integers(const Group& group, const Arranged& x) {
    return _mm256_add_epi32(SumMedium(group, x), x.BlockSums(-16));
  }
};

struct Q5_1 : WithMinimum {
  static constexpr uint32_t kBytes = 24;

  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    LoadNibbles<ByHalves, kBytes, 8>(low, high, to);
    AddFifthBits<kBytes, 4>(low, high, to);
    LoadScales<kBytes>(low, high, to);
  }
  static __m256i Integers(const Group& group, const Arranged& x) { return SumMedium(group, x); }
};

struct Q8_0 : ByHalves {
  static constexpr uint32_t kElements = 32, kBytes = 34;

  static void Load(const uint8_t* low, const uint8_t* high, Group* to) {
    for (int i = 0; i < 4; ++i, low += kBytes, high += kBytes) {
      to->first[i] = LoadParts(low + 2, high + 2);
      to->second[i] = LoadParts(low + 18, high + 18);
    }
    to->d = _mm256_cvtph_ps(GatherWords<kBytes, 0>(low - 4 * kBytes, high - 4 * kBytes));
  }
  static __m256i Integers(const Group& group, const Arranged& x) { return SumSigned(group, x); }
};

}  // namespace

DotKernel Avx2LegacyDot(TensorType type) {
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
