// AVX2: the lattice formats.
#include <utility>

#include "kernels/exact/avx2_points_iq1.h"
#include "kernels/exact/avx2_points_iq2.h"
#include "kernels/exact/avx2_points_iq3.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

// For each block, written out: the constants of a block are none in a loop.
template <typename Do, int... kBlocks>
[[gnu::always_inline]] inline void ForBlocks(std::integer_sequence<int, kBlocks...>, const Do& f) {
  (f(kBlocks), ...);
}
template <typename Do>
[[gnu::always_inline]] inline void ForEachBlock(const Do& f) {
  ForBlocks(std::make_integer_sequence<int, 8>(), f);
}

// The sums of eight vectors of eight, vector b in lane b.
inline __m256i SumEach(const __m256i (&v)[8]) {
  __m256i folded[4];
  for (int i = 0; i < 4; ++i) {
    folded[i] = _mm256_add_epi32(_mm256_blend_epi32(v[i], v[i + 4], 0xf0),
                                 _mm256_permute2x128_si256(v[i], v[i + 4], 0x21));
  }
  return _mm256_hadd_epi32(_mm256_hadd_epi32(folded[0], folded[1]),
                           _mm256_hadd_epi32(folded[2], folded[3]));
}

// 1 or -1 a byte by the sign bits of block b, out of sixteen bytes twice over.
inline __m256i SpreadSigns(__m256i sixteen, int b) {
  const __m256i byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                        2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i place = _mm256_add_epi8(byte, _mm256_set1_epi8(static_cast<char>(4 * (b % 4))));
  const __m256i bits = _mm256_and_si256(_mm256_shuffle_epi8(sixteen, place), bit);
  return _mm256_or_si256(_mm256_cmpeq_epi8(bits, bit), _mm256_set1_epi8(1));
}
inline __m256i SixteenSigns(const uint8_t* signs, int b) {
  return _mm256_broadcastsi128_si256(Load128(signs + 16 * (b / 4)));
}

// The scales of block b, 16 bits each.
inline __m256i SpreadScale(__m256i scales, int b) {
  return _mm256_shuffle_epi8(scales, _mm256_set1_epi16(static_cast<int16_t>(0x0100 + 0x0202 * b)));
}

// Lane b: sum of scale times products of block b. Four products of magnitudes (up to 62) fit in 16
// bits, so that two blocks share a multiplication.
[[gnu::always_inline]] inline __m256i SumScaled(const __m256i (&products)[8], __m256i scales) {
  __m256i sums[4];
  ForBlocks(
      std::make_integer_sequence<int, 4>(), [&](int b) __attribute__((always_inline)) {
        // Of each half four sums of block b, then four of block b + 4.
        const __m256i both =
            _mm256_add_epi16(_mm256_blend_epi32(products[b], products[b + 4], 0xcc),
                             _mm256_alignr_epi8(products[b + 4], products[b], 8));
        const int64_t place = 0x0100010001000100 + 0x0202020202020202 * b;
        const __m256i places = _mm256_setr_epi64x(place, place + 0x0808080808080808, place,
                                                  place + 0x0808080808080808);
        sums[b] = _mm256_madd_epi16(both, _mm256_shuffle_epi8(scales, places));
      });
  const __m256i first = _mm256_hadd_epi32(sums[0], sums[1]);
  const __m256i second = _mm256_hadd_epi32(sums[2], sums[3]);
  // 0 4 1 5 | 2 6 3 7
  const __m256i mixed = _mm256_add_epi32(_mm256_blend_epi32(first, second, 0xf0),
                                         _mm256_permute2x128_si256(first, second, 0x21));
  return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

// One row of activations: it takes the weights' signs, and nothing of a group is kept.
template <typename F>
struct InPassing {
  using Format = F;
  using Block = typename Format::Block;
  using Codes = typename Format::Codes;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  struct Group {
    const Codes* codes;
    __m256i scales;
    __m256 d;
  };

  static void Load(const Block& block, const Codes& codes, Group* group) {
    *group = {&codes, Format::Scales(block), _mm256_set1_ps(Format::D(block))};
  }
  [[gnu::always_inline]] static __m256i Integers(const Group& group, const int8_t* q,
                                                 const int16_t* q_sums) {
    __m256i products[8];
    ForEachBlock([&](int b) __attribute__((always_inline)) {
      __m256i part = Load256(q + 32 * b);
      if constexpr (Format::kSigned) {
        part = _mm256_sign_epi8(part, SpreadSigns(SixteenSigns(group.codes->signs, b), b));
      }
      products[b] = _mm256_maddubs_epi16(Format::Points(*group.codes, b), part);
    });
    const __m256i sums = SumScaled(products, group.scales);
    if constexpr (Format::kSigned) return sums;
    return TakeOff(sums, Offsets<Format>(group.scales), q_sums);
  }
};

// Several rows: the weights take the signs and go up by the offset, once for all. The instruction
// that adds pairs of products up multiplies by the sub-scales, too.
template <typename F>
struct Raised {
  using Format = F;
  using Block = typename Format::Block;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  struct Group {
    __m256i weights[8];
    __m256i scales[8];
    __m256i offsets;
    __m256 d;
  };

  static void Load(const Block& block, const typename Format::Codes& codes, Group* group) {
    const __m256i scales = Format::Scales(block);
    ForEachBlock([&](int b) __attribute__((always_inline)) {
      group->weights[b] = Format::Points(codes, b);
      if constexpr (Format::kSigned) {
        const __m256i signs = SpreadSigns(SixteenSigns(codes.signs, b), b);
        group->weights[b] = _mm256_add_epi8(_mm256_sign_epi8(group->weights[b], signs),
                                            _mm256_set1_epi8(Format::kOffset));
      }
      group->scales[b] = SpreadScale(scales, b);
    });
    group->offsets = Offsets<Format>(scales);
    group->d = _mm256_set1_ps(Format::D(block));
  }
  static __m256i Integers(const Group& group, const int8_t* q, const int16_t* q_sums) {
    __m256i sums[8];
    for (int b = 0; b < 8; ++b) {
      sums[b] = _mm256_madd_epi16(_mm256_maddubs_epi16(group.weights[b], Load256(q + 32 * b)),
                                  group.scales[b]);
    }
    return TakeOff(SumEach(sums), group.offsets, q_sums);
  }
};

template <typename Format>
void DotPoints(const DotCall& call) {
  if (call.row_count == 1) return DotAhead<InPassing<Format>, true>(call);
  DotAhead<Raised<Format>, false>(call);
}

}  // namespace

DotKernel Avx2LatticeDot(TensorType type) {
  switch (type) {
    case TensorType::kIQ3_S:
      return &DotPoints<Iq3SPoints>;
    case TensorType::kIQ3_XXS:
      return &DotPoints<Iq3XxsPoints>;
    case TensorType::kIQ2_S:
      return &DotPoints<Iq2SPoints>;
    case TensorType::kIQ2_XS:
      return &DotPoints<Iq2XsPoints>;
    case TensorType::kIQ2_XXS:
      return &DotPoints<Iq2XxsPoints>;
    case TensorType::kIQ1_S:
      return &DotPoints<Iq1SPoints>;
    case TensorType::kIQ1_M:
      return &DotPoints<Iq1MPoints>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
