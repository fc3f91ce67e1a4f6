// AVX-512: element-wise steps, and every quantized format by way of its plain code.
#include "kernels/exact/any_dot.h"
#include "kernels/exact/avx512_frame.h"
#include "kernels/exact/elementwise.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

// Weights are taken 128 up, so that they are unsigned; 128 times the activations' sums goes off
// again. The sum of a half's 16 activations stands in `sums`.
template <Minima kMinimaOf, bool kHasTwoScales>
struct Any {
  static constexpr Minima kMinima = kMinimaOf;
  static constexpr bool kTwoScales = kHasTwoScales;
  struct Group {
    WeightGroup weights;
    __m256 d, d_high, minimum, minimum_high;
  };

  static void Split(Group* group) {
    const __m512 both = _mm512_load_ps(group->weights.d);
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m512 ordered = _mm512_permutexvar_ps(even, both);
    group->d = _mm512_castps512_ps256(ordered);
    group->d_high = _mm512_extractf32x8_ps(ordered, 1);
    if (kMinima == Minima::kNone) return;
    SplitMinima(group->weights, &group->minimum, &group->minimum_high);
  }

  static __m512i Products(const Group& group, const int8_t* q, const int16_t* sums) {
    __m512i pair[4];
    const __m512i up = _mm512_set1_epi8(-128);
    for (int i = 0; i < 4; ++i) {
      const __m512i weights = _mm512_xor_si512(Load512(group.weights.q + 64 * i), up);
      pair[i] = DotUnsigned(weights, Load512(q + 64 * i));
    }
    const __m512i off = _mm512_slli_epi32(ToHalves512(Load256(sums)), 7);
    return _mm512_mullo_epi32(_mm512_sub_epi32(SumHalves(pair), off),
                              ToHalves512(Load256(group.weights.scale)));
  }
  static __m256i Integers(const Group& group, const int8_t* q, const int16_t* sums) {
    const __m512i products = Products(group, q, sums);
    return kTwoScales ? FirstHalves(products) : SumBlocks(products);
  }
  static __m256i HighIntegers(const Group& group, const int8_t* q, const int16_t* sums) {
    return SecondHalves(Products(group, q, sums));
  }
};

}  // namespace

DotKernel Avx512AnyDot(TensorType type) {
  // Float weights walk through eight blocks at once: there is nothing for wider vectors to do.
  if (type == TensorType::kF16 || type == TensorType::kBF16) return Avx2AnyDot(type);
  return &DotAnyKind<Any>;
}

bool Avx512Quantize(const float* x, uint32_t cols, int8_t* q, float* d, int16_t* sums, float* s) {
  return QuantizeAll(x, cols, q, d, sums, s);
}
void Avx512Activate(const ExpertConventions& conventions, const float* gate, const float* up,
                    uint32_t count, float* to) {
  ActivateAll(conventions, gate, up, count, to);
}

}  // namespace berth::kernels
