// AVX2: weights decoded to floats, eight at a time.
#include "kernels/exact/avx2_decode.h"

namespace berth::kernels {
namespace {

struct Eights {
  static constexpr size_t kFloats = 8;

  template <bool kMinima>
  static void ToFloats(const Unpacked& group, size_t halves, float* to) {
    for (size_t half = 0; half < halves; ++half) {
      const __m256 scale = _mm256_broadcast_ss(group.scale + half);
      for (size_t i = 16 * half; i < 16 * half + 16; i += 8) {
        const __m128i q = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(group.q + i));
        __m256 value = _mm256_mul_ps(scale, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)));
        if constexpr (kMinima) {
          value = _mm256_add_ps(value, _mm256_broadcast_ss(group.offset + half));
        }
        _mm256_storeu_ps(to + i, value);
      }
    }
  }
  static void HalvesToFloats(const uint8_t* from, float* to) {
    _mm256_storeu_ps(to, _mm256_cvtph_ps(Load128(from)));
  }
  static void BrainToFloats(const uint8_t* from, float* to) {
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(from)), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits);
  }
};

}  // namespace

DecodeKernel Avx2Decode(TensorType type) { return FindDecode<Eights>(type); }

}  // namespace berth::kernels
