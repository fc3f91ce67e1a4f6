// AVX2: the wide arithmetic's products, eight pairs a vector, six weight rows at a time.
#include <immintrin.h>

#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

inline __m256 Quiet(__m256 value) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

template <int kRows>
inline void Tile(const WideCall& call, uint32_t row, uint32_t panel) {
  const float* const weights = call.weights + size_t{row} * kWideCols;
  const float* const x = call.panels + panel * call.panel_stride;
  float* const sum = call.sums + (size_t{panel} * kWideRows + row) * kWideLanes;
  __m256 sums[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    sums[r][0] = _mm256_loadu_ps(sum + r * kWideLanes);
    sums[r][1] = _mm256_loadu_ps(sum + r * kWideLanes + 8);
  }
  for (size_t i = 0; i < call.cols; ++i) {
    const __m256 low = _mm256_load_ps(x + i * kWideLanes);
    const __m256 high = _mm256_load_ps(x + i * kWideLanes + 8);
    for (int r = 0; r < kRows; ++r) {
      const __m256 weight = _mm256_broadcast_ss(weights + r * kWideCols + i);
      sums[r][0] = _mm256_fmadd_ps(weight, low, sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(weight, high, sums[r][1]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(sum + r * kWideLanes, Quiet(sums[r][0]));
    _mm256_storeu_ps(sum + r * kWideLanes + 8, Quiet(sums[r][1]));
  }
}

}  // namespace

void Avx2Wide(const WideCall& call) {
  for (uint32_t panel = 0; panel < call.panel_count; ++panel) {
    uint32_t row = 0;
    // Twelve sums keep both multipliers busy. Sixteen rows are six, six and four.
    for (; row + 6 <= call.rows; row += 6) Tile<6>(call, row, panel);
    for (; row + 4 <= call.rows; row += 4) Tile<4>(call, row, panel);
    for (; row < call.rows; ++row) Tile<1>(call, row, panel);
  }
}

}  // namespace berth::kernels
