// IQ2_XXS, IQ2_XS and IQ2_S for avx2_points.h.
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_POINTS_IQ2_H_
#define BERTH_KERNELS_EXACT_AVX2_POINTS_IQ2_H_

#include "kernels/exact/avx2_points.h"
#include "kernels/formats/codebook_iq2.h"

namespace berth::kernels {
namespace {

constexpr uint8_t kIq2Levels[8] = {8, 25, 43};

struct Iq2XxsPoints {
  using Block = BlockIq2_Xxs;
  static constexpr bool kSigned = true;
  static constexpr int kOffset = 64;
  static constexpr auto kTable = ExpandPoints<uint64_t>(kCodebookIq2Xxs, 2, kIq2Levels);
  static float D(const Block& block) { return LoadF16(block.d) * 0.125f; }
  struct Codes {
    const uint8_t* index;
    alignas(32) uint8_t signs[32];
  };

  static __m256i Words(const Block& block) {
    const __m256 first = _mm256_castsi256_ps(Load256(block.qs));
    const __m256 second = _mm256_castsi256_ps(Load256(block.qs + 32));
    const __m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0xdd));
    return _mm256_permute4x64_epi64(odd, 0xd8);
  }
  static void Prepare(const Block& block, Codes* codes) {
    codes->index = block.qs;
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes->signs), SignsOfWords(Words(block)));
    KeepInMemory(codes->signs);
  }
  static __m256i Points(const Codes& codes, int b) {
    return Join(kTable.points, codes.index + 8 * b);
  }
  static __m256i Scales(const Block& block) { return ScalesOfWords(Words(block)); }
};

struct Iq2XsPoints {
  using Block = BlockIq2_Xs;
  static constexpr bool kSigned = true;
  static constexpr int kOffset = 64;
  static constexpr auto kTable = ExpandPoints<uint64_t>(kCodebookIq2Xs, 2, kIq2Levels);
  static float D(const Block& block) { return LoadF16(block.d) * 0.125f; }
  struct Codes {
    alignas(32) uint16_t index[32];
    alignas(32) uint8_t signs[32];
  };

  static void Prepare(const Block& block, Codes* codes) {
    const __m256i first = Load256(block.qs), second = Load256(block.qs + 32);
    const __m256i low = _mm256_set1_epi16(511);
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes->index), _mm256_and_si256(first, low));
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes->index + 16),
                       _mm256_and_si256(second, low));
    const __m256i sevens =
        _mm256_packus_epi16(_mm256_srli_epi16(first, 9), _mm256_srli_epi16(second, 9));
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes->signs),
                       CompleteSigns(_mm256_permute4x64_epi64(sevens, 0xd8)));
    KeepInMemory(codes->index);
  }
  static __m256i Points(const Codes& codes, int b) {
    return Join(kTable.points, codes.index + 4 * b);
  }
  static __m256i Scales(const Block& block) { return ScalesOfHalves(block.scales); }
};

struct Iq2SPoints {
  using Block = BlockIq2_S;
  static constexpr bool kSigned = true;
  static constexpr int kOffset = 64;
  static constexpr auto kTable = ExpandPoints<uint64_t>(kCodebookIq2S, 2, kIq2Levels);
  static float D(const Block& block) { return LoadF16(block.d) * 0.125f; }
  struct Codes {
    alignas(32) uint16_t index[32];
    const uint8_t* signs;
  };

  static void Prepare(const Block& block, Codes* codes) {
    codes->signs = block.signs;
    const __m256i byte =
        _mm256_setr_epi8(0, -1, 0, -1, 0, -1, 0, -1, 1, -1, 1, -1, 1, -1, 1, -1,  //
                         2, -1, 2, -1, 2, -1, 2, -1, 3, -1, 3, -1, 3, -1, 3, -1);
    // Two bits of four to where bits 8 and 9 are.
    const __m256i place = _mm256_set1_epi64x(0x0004001000400100);
    for (int i = 0; i < 2; ++i) {
      int high;
      memcpy(&high, block.qh + 4 * i, sizeof(high));
      const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(high), byte);
      const __m256i upper =
          _mm256_and_si256(_mm256_mullo_epi16(spread, place), _mm256_set1_epi16(0x300));
      _mm256_store_si256(reinterpret_cast<__m256i*>(codes->index + 16 * i),
                         _mm256_or_si256(_mm256_cvtepu8_epi16(Load128(block.qs + 16 * i)), upper));
    }
    KeepInMemory(codes->index);
  }
  static __m256i Points(const Codes& codes, int b) {
    return Join(kTable.points, codes.index + 4 * b);
  }
  static __m256i Scales(const Block& block) { return ScalesOfHalves(block.scales); }
};

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_POINTS_IQ2_H_
