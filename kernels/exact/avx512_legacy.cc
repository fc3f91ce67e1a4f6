// AVX-512: the formats with one F16 scale per 32 weights.
#include "kernels/exact/avx512_arranged.h"

namespace berth::kernels {
namespace {

// Lane l of sixteen: word Of(l).block * kStride + kFirst of its weight row, for up to 8 blocks in
// the 128 bytes from `a` and `b` (kQuads = 1: 4 blocks in 64 bytes; the other lanes are zero).
template <Lane (*kLane)(int), int kQuads, int kStride, int kFirst>
inline __m256i GatherWords(const uint8_t* a, const uint8_t* b) {
  alignas(64) static constexpr auto kIndex = [] {
    struct {
      uint16_t of[32] = {};
      uint16_t second = 0, used = 0;
    } index;
    for (int lane = 0; lane < 16; ++lane) {
      index.of[lane] = static_cast<uint16_t>(kLane(lane).block * kStride + kFirst);
      if (kLane(lane).row == 1) index.second |= static_cast<uint16_t>(1 << lane);
      if (kLane(lane).block < 4 * kQuads) index.used |= static_cast<uint16_t>(1 << lane);
    }
    return index;
  }();
  const __m512i index = _mm512_load_si512(kIndex.of);
  __m512i first, second;
  if (kQuads == 2) {
    first = _mm512_permutex2var_epi16(Load512(a), index, Load512(a + 64));
    second = _mm512_permutex2var_epi16(Load512(b), index, Load512(b + 64));
  } else {
    first = _mm512_permutexvar_epi16(index, Load512(a));
    second = _mm512_permutexvar_epi16(index, Load512(b));
  }
  const __m256i both = _mm256_mask_mov_epi16(_mm512_castsi512_si256(first), kIndex.second,
                                             _mm512_castsi512_si256(second));
  return kQuads == 2 ? both : _mm256_maskz_mov_epi16(kIndex.used, both);
}

struct Q4_0 {
  static constexpr uint32_t kElements = 32, kBytes = 18;
  static constexpr bool kMinima = false, kTwoScales = false;
  static constexpr int kOffset = -8;
  static constexpr Lane Of(int lane) { return ByQuads(lane); }
  static void Arrange(const int8_t* q, int8_t* to) { ArrangeByQuads(q, to); }

  struct Group {
    __m512i low[4], high[4];  // quads of the first row, then of the second
    __m512 d;
  };

  template <int kQuads>
  static void Load(const uint8_t* a, const uint8_t* b, Group* to) {
    for (int i = 0; i < kQuads; ++i) {
      const __m512i first = LoadFour<kBytes>(a + 4 * kBytes * i + 2);
      const __m512i second = LoadFour<kBytes>(b + 4 * kBytes * i + 2);
      to->low[i] = LowNibbles(first);
      to->high[i] = HighNibbles(first);
      to->low[2 + i] = LowNibbles(second);
      to->high[2 + i] = HighNibbles(second);
    }
    to->d = _mm512_cvtph_ps(GatherWords<&ByQuads, kQuads, kBytes / 2, 0>(a, b));
  }

  template <int kQuads>
  static __m512i Integers(const Group& group, const Arranged& x) {
    __m512i sums[4];
    for (int i = 0; i < 4; ++i) {
      if (i % 2 >= kQuads) {
        sums[i] = _mm512_setzero_si512();
        continue;
      }
      const int8_t* const q = x.q + 128 * (i % 2);
      sums[i] = _mm512_dpbusd_epi32(DotUnsigned(group.low[i], Load512(q)), group.high[i],
                                    Load512(q + 64));
    }
    return _mm512_dpwssd_epi32(_mm512_load_si512(x.offset),
                               HalfSumParts(sums[0], sums[1], sums[2], sums[3]),
                               _mm512_set1_epi16(1));
  }
};

}  // namespace

DotKernel Avx512LegacyDot(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return &DotArranged<Q4_0>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
