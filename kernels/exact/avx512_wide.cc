// AVX-512: the wide arithmetic's products, sixteen pairs a vector, eight rows at a time.
#include <immintrin.h>

#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

inline __m512 Quiet(__m512 value) {
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
  return _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), nan);
}

template <int kRows>
void WideRows(const float* weights, uint32_t cols, const float* panel, float* out) {
  __m512 sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
  for (uint32_t i = 0; i < cols; ++i) {
    const __m512 x = _mm512_load_ps(panel + size_t{i} * kWideLanes);
    for (int r = 0; r < kRows; ++r) {
      const __m512 weight = _mm512_set1_ps(weights[static_cast<size_t>(r) * cols + i]);
      sums[r] = _mm512_fmadd_ps(weight, x, sums[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) _mm512_storeu_ps(out + r * kWideLanes, Quiet(sums[r]));
}

}  // namespace

void Avx512Wide(const float* weights, uint32_t rows, uint32_t cols, const float* panel,
                float* out) {
  if (rows == kWideRows) return WideRows<kWideRows>(weights, cols, panel, out);
  for (; rows > 0; --rows, weights += cols, out += kWideLanes) {
    WideRows<1>(weights, cols, panel, out);
  }
}

}  // namespace berth::kernels
