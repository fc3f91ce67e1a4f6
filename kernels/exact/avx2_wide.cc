// AVX2: the wide arithmetic's products, eight pairs a vector, four rows at a time.
#include <immintrin.h>

#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

inline __m256 Quiet(__m256 value) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

template <int kRows>
void WideRows(const float* weights, uint32_t cols, const float* panel, float* out) {
  __m256 sums[kRows][2];
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_ps();
  for (uint32_t i = 0; i < cols; ++i) {
    const __m256 low = _mm256_load_ps(panel + size_t{i} * kWideLanes);
    const __m256 high = _mm256_load_ps(panel + size_t{i} * kWideLanes + 8);
    for (int r = 0; r < kRows; ++r) {
      const __m256 weight = _mm256_broadcast_ss(weights + static_cast<size_t>(r) * cols + i);
      sums[r][0] = _mm256_fmadd_ps(weight, low, sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(weight, high, sums[r][1]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(out + r * kWideLanes, Quiet(sums[r][0]));
    _mm256_storeu_ps(out + r * kWideLanes + 8, Quiet(sums[r][1]));
  }
}

}  // namespace

void Avx2Wide(const float* weights, uint32_t rows, uint32_t cols, const float* panel, float* out) {
  for (; rows >= 4; rows -= 4, weights += size_t{4} * cols, out += 4 * kWideLanes) {
    WideRows<4>(weights, cols, panel, out);
  }
  for (; rows > 0; --rows, weights += cols, out += kWideLanes) {
    WideRows<1>(weights, cols, panel, out);
  }
}

}  // namespace berth::kernels
