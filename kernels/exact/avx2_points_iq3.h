// IQ3_S and IQ3_XXS for avx2_points.h.
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_POINTS_IQ3_H_
#define BERTH_KERNELS_EXACT_AVX2_POINTS_IQ3_H_

#include "kernels/exact/avx2_points.h"
#include "kernels/formats/codebook_iq3.h"

namespace berth::kernels {
namespace {

struct Iq3SPoints {
  using Block = BlockIq3_S;
  static constexpr bool kSigned = true;
  static constexpr int kOffset = 64;
  static constexpr uint8_t kLevels[8] = {1, 3, 5, 7, 9, 11, 13, 15};
  static constexpr auto kTable = ExpandPoints<uint32_t>(kCodebookIq3S, 3, kLevels);
  static float D(const Block& block) { return LoadF16(block.d); }
  struct Codes {
    alignas(32) uint16_t index[64];
    const uint8_t* signs;
  };

  static void Prepare(const Block& block, Codes* codes) {
    codes->signs = block.signs;
    const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                          8192, 16384, -32768);
    for (int i = 0; i < 4; ++i) {
      int16_t high;
      memcpy(&high, block.qh + 2 * i, sizeof(high));
      const __m256i bits = _mm256_and_si256(_mm256_set1_epi16(high), bit);
      const __m256i ninth = _mm256_and_si256(_mm256_cmpeq_epi16(bits, bit), _mm256_set1_epi16(256));
      _mm256_store_si256(reinterpret_cast<__m256i*>(codes->index + 16 * i),
                         _mm256_or_si256(_mm256_cvtepu8_epi16(Load128(block.qs + 16 * i)), ninth));
    }
    KeepInMemory(codes->index);
  }
  static __m256i Points(const Codes& codes, int b) {
    return Join(kTable.points, codes.index + 8 * b);
  }
  static __m256i Scales(const Block& block) { return ScalesOfBlocks(block.scales); }
};

struct Iq3XxsPoints {
  using Block = BlockIq3_Xxs;
  static constexpr bool kSigned = true;
  static constexpr int kOffset = 64;
  static constexpr uint8_t kLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
  static constexpr auto kTable = ExpandPoints<uint32_t>(kCodebookIq3Xxs, 3, kLevels);
  static float D(const Block& block) { return LoadF16(block.d) * 0.25f; }
  struct Codes {
    const uint8_t* index;
    alignas(32) uint8_t signs[32];
  };

  static void Prepare(const Block& block, Codes* codes) {
    codes->index = block.qs;
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes->signs),
                       SignsOfWords(Load256(block.scales_and_signs)));
    KeepInMemory(codes->signs);
  }
  static __m256i Points(const Codes& codes, int b) {
    return Join(kTable.points, codes.index + 8 * b);
  }
  static __m256i Scales(const Block& block) {
    return ScalesOfWords(Load256(block.scales_and_signs));
  }
};

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_POINTS_IQ3_H_
