// AVX-512 with VNNI but without VBMI: the lattice formats, their points loaded as on AVX2. Sign
// bits are masks here, for 64 weights at a time.
#include "kernels/exact/avx2_points_iq1.h"
#include "kernels/exact/avx2_points_iq2.h"
#include "kernels/exact/avx2_points_iq3.h"
#include "kernels/exact/avx512_frame.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

inline __mmask64 LoadMask(const uint8_t* from) {
  uint64_t bits;
  memcpy(&bits, from, sizeof(bits));
  return _cvtu64_mask64(bits);
}

template <typename Format>
[[gnu::always_inline]] inline __m512i TwoBlocks(const typename Format::Codes& codes, int i) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(Format::Points(codes, 2 * i)),
                            Format::Points(codes, 2 * i + 1), 1);
}

// kSigned: one row of activations takes the weights' signs. Otherwise the weights have been given
// their signs and offset, once for all rows.
template <typename F, bool kSigned>
struct Points512 {
  using Format = F;
  using Block = typename Format::Block;
  static constexpr Minima kMinima = Minima::kNone;
  static constexpr bool kTwoScales = false;
  struct Group {
    __m512i weights[4];
    __mmask64 signs[4];
    __m512i scales;   // in the order of SumHalves
    __m256i offsets;  // in natural order
    __m256 d;
  };

  static void Load(const Block& block, const typename Format::Codes& codes, Group* group) {
    for (int i = 0; i < 4; ++i) {
      const __m512i points = TwoBlocks<Format>(codes, i);
      group->weights[i] = points;
      if constexpr (Format::kSigned) {
        group->signs[i] = LoadMask(codes.signs + 8 * i);
        if constexpr (!kSigned) {
          const __m512i up = _mm512_set1_epi8(Format::kOffset);
          group->weights[i] =
              _mm512_mask_sub_epi8(_mm512_add_epi8(points, up), group->signs[i], up, points);
        }
      }
    }
    const __m256i scales = Format::Scales(block);
    const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    group->scales = _mm512_permutexvar_epi32(order, _mm512_cvtepi16_epi32(scales));
    if constexpr (!kSigned) group->offsets = Offsets<Format>(scales);
    group->d = _mm256_set1_ps(Format::D(block));
  }

  static __m256i Integers(const Group& group, const int8_t* q, const int16_t* sums) {
    __m512i pair[4];
    for (int i = 0; i < 4; ++i) {
      __m512i part = Load512(q + 64 * i);
      if constexpr (kSigned) {
        part = _mm512_mask_sub_epi8(part, group.signs[i], _mm512_setzero_si512(), part);
      }
      pair[i] = DotUnsigned(group.weights[i], part);
    }
    const __m256i all = SumBlocks(_mm512_mullo_epi32(SumHalves(pair), group.scales));
    if constexpr (kSigned) return all;
    return TakeOff(all, group.offsets, sums);
  }
};

template <typename Format>
void DotPoints512(const DotCall& call) {
  if (call.row_count == 1) return DotAhead<Points512<Format, Format::kSigned>, true>(call);
  DotAhead<Points512<Format, false>, false>(call);
}

}  // namespace

DotKernel Avx512LatticeDot(TensorType type) {
  switch (type) {
    case TensorType::kIQ3_S:
      return &DotPoints512<Iq3SPoints>;
    case TensorType::kIQ3_XXS:
      return &DotPoints512<Iq3XxsPoints>;
    case TensorType::kIQ2_S:
      return &DotPoints512<Iq2SPoints>;
    case TensorType::kIQ2_XS:
      return &DotPoints512<Iq2XsPoints>;
    case TensorType::kIQ2_XXS:
      return &DotPoints512<Iq2XxsPoints>;
    case TensorType::kIQ1_S:
      return &DotPoints512<Iq1SPoints>;
    case TensorType::kIQ1_M:
      return &DotPoints512<Iq1MPoints>;
    default:
      return nullptr;
  }
}

}  // namespace berth::kernels
