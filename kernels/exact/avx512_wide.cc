// AVX-512: the wide arithmetic's products, sixteen pairs a vector, sixteen sums at a time.
#include <immintrin.h>

#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

inline __m512 Quiet(__m512 value) {
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
  return _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), nan);
}

// Weight rows from `row` on with panels from `panel` on.
template <int kRows, int kPanels>
inline void Tile(const WideCall& call, uint32_t row, uint32_t panel, size_t begin, size_t end) {
  const float* const weights = call.weights + size_t{row} * kWideCols;
  const float* const x = call.panels + panel * call.panel_stride;
  float* const sum = call.sums + (size_t{panel} * kWideRows + row) * kWideLanes;
  __m512 sums[kPanels][kRows];
  for (int p = 0; p < kPanels; ++p) {
    for (int r = 0; r < kRows; ++r) {
      sums[p][r] = _mm512_loadu_ps(sum + (p * kWideRows + r) * kWideLanes);
    }
  }
  for (size_t i = begin; i < end; ++i) {
    __m512 columns[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      columns[p] = _mm512_load_ps(x + p * call.panel_stride + i * kWideLanes);
    }
    for (int r = 0; r < kRows; ++r) {
      const __m512 weight = _mm512_set1_ps(weights[r * kWideCols + i]);
      for (int p = 0; p < kPanels; ++p) {
        sums[p][r] = _mm512_fmadd_ps(weight, columns[p], sums[p][r]);
      }
    }
  }
  for (int p = 0; p < kPanels; ++p) {
    for (int r = 0; r < kRows; ++r) {
      _mm512_storeu_ps(sum + (p * kWideRows + r) * kWideLanes, Quiet(sums[p][r]));
    }
  }
}

template <int kPanels>
inline void Rows(const WideCall& call, uint32_t panel, size_t begin, size_t end) {
  uint32_t row = 0;
  if constexpr (kPanels == 1) {
    if (call.rows == 16) return Tile<16, 1>(call, 0, panel, begin, end);
  }
  for (; row + 8 <= call.rows; row += 8) Tile<8, kPanels>(call, row, panel, begin, end);
  for (; row < call.rows; ++row) Tile<1, kPanels>(call, row, panel, begin, end);
}

// Two panels and the weights that they meet would just fill a cache of 48 KiB: half of the columns
// stay in it for the other rows.
inline void TwoPanels(const WideCall& call, uint32_t panel) {
  const size_t half = call.cols < kWideCols / 2 ? call.cols : kWideCols / 2;
  Rows<2>(call, panel, 0, half);
  if (half < call.cols) Rows<2>(call, panel, half, call.cols);
}

}  // namespace

void Avx512Wide(const WideCall& call) {
  uint32_t panel = 0;
  for (; panel + 2 <= call.panel_count; panel += 2) TwoPanels(call, panel);
  if (panel < call.panel_count) Rows<1>(call, panel, 0, call.cols);
}

}  // namespace berth::kernels
