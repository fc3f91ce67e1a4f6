// AVX-512: weights decoded to floats, sixteen at a time.
#include "kernels/exact/avx2_decode.h"
#include "kernels/exact/avx512_decode_tables.h"

namespace berth::kernels {
namespace {

struct Sixteens {
  static constexpr size_t kFloats = 16;

  template <bool kMinima>
  static void ToFloats(const Unpacked& group, size_t halves, float* to) {
    for (size_t half = 0; half < halves; ++half) {
      const __m512 q = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(Load128(group.q + 16 * half)));
      __m512 value = _mm512_mul_ps(_mm512_set1_ps(group.scale[half]), q);
      if constexpr (kMinima) value = _mm512_add_ps(value, _mm512_set1_ps(group.offset[half]));
      _mm512_storeu_ps(to + 16 * half, value);
    }
  }
  static void HalvesToFloats(const uint8_t* from, float* to) {
    _mm512_storeu_ps(to, _mm512_cvtph_ps(Load256(from)));
  }
  static void BrainToFloats(const uint8_t* from, float* to) {
    _mm512_storeu_si512(to, _mm512_slli_epi32(_mm512_cvtepu16_epi32(Load256(from)), 16));
  }
};

}  // namespace

DecodeKernel Avx512Decode(TensorType type) {
  if (const DecodeKernel kernel = FindTableDecode(type)) return kernel;
  return FindDecode<Sixteens>(type);
}

}  // namespace berth::kernels
