// IQ1_S and IQ1_M for avx2_points.h.
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_POINTS_IQ1_H_
#define BERTH_KERNELS_EXACT_AVX2_POINTS_IQ1_H_

#include "kernels/exact/avx2_points.h"
#include "kernels/formats/codebook_iq1.h"

namespace berth::kernels {
namespace {

// Weights in eighths, plus 9: 8 times the level (0 to 2), plus 2 where the shift is upwards.
constexpr uint8_t kShiftedLevels[8] = {0, 8, 16};
constexpr auto kShiftedPoints = ExpandPoints<uint64_t>(kCodebookIq1, 2, kShiftedLevels);

// By four bits: 2 in eight bytes where the bit is clear.
struct ShiftTable {
  alignas(64) uint8_t bytes[16][32];
};
constexpr ShiftTable MakeShifts() {
  ShiftTable table{};
  for (int down = 0; down < 16; ++down) {
    for (int i = 0; i < 32; ++i) table.bytes[down][i] = (down >> (i / 8)) & 1 ? 0 : 2;
  }
  return table;
}
constexpr ShiftTable kShifts = MakeShifts();

struct ShiftedCodes {
  alignas(32) uint16_t index[32];
  uint32_t down;  // a bit for each point
};
inline __m256i ShiftedWeights(const ShiftedCodes& codes, int b) {
  const __m256i shift = Load256(kShifts.bytes[(codes.down >> (4 * b)) & 15]);
  return _mm256_or_si256(Join(kShiftedPoints.points, codes.index + 4 * b), shift);
}
// `high`: bits 8 to 10, and others.
inline void StoreIndices(const uint8_t* low, __m256i high, uint16_t* to) {
  const __m256i upper = _mm256_and_si256(high, _mm256_set1_epi16(0x700));
  _mm256_store_si256(reinterpret_cast<__m256i*>(to),
                     _mm256_or_si256(_mm256_cvtepu8_epi16(Load128(low)), upper));
}

struct Iq1SPoints {
  using Block = BlockIq1_S;
  static constexpr bool kSigned = false;
  static constexpr int kOffset = 9;
  static float D(const Block& block) { return LoadF16(block.d) * 0.125f; }
  using Codes = ShiftedCodes;

  static void Prepare(const Block& block, Codes* codes) {
    const __m128i words = Load128(block.qh);
    // A word for each of four points; three bits of it each to where bits 8 to 10 are.
    const __m256i order = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3,  //
                                           4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7);
    const __m256i places = _mm256_set1_epi64x(0x0000000400200100);
    for (int i = 0; i < 2; ++i) {
      const __m128i four = i == 0 ? words : _mm_unpackhi_epi64(words, words);
      const __m256i spread = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(four), order);
      const __m256i high = _mm256_blend_epi16(_mm256_mullo_epi16(spread, places),
                                              _mm256_srli_epi16(spread, 1), 0x88);
      StoreIndices(block.qs + 16 * i, high, codes->index + 16 * i);
    }
    KeepInMemory(codes->index);
    // The uppermost bit of each word, four times.
    const __m256i negative = _mm256_cvtepi16_epi32(_mm_srai_epi16(words, 15));
    const __m256i fours =
        _mm256_and_si256(negative, _mm256_setr_epi32(0xf, 0xf0, 0xf00, 0xf000, 0xf0000, 0xf00000,
                                                     0xf000000, static_cast<int>(0xf0000000)));
    const __m128i two =
        _mm_or_si128(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    const __m128i one = _mm_or_si128(two, _mm_unpackhi_epi64(two, two));
    const uint64_t both = static_cast<uint64_t>(_mm_cvtsi128_si64(one));
    codes->down = static_cast<uint32_t>(both | both >> 32);
  }
  static __m256i Points(const Codes& codes, int b) { return ShiftedWeights(codes, b); }
  static __m256i Scales(const Block& block) {
    const __m128i scales = _mm_and_si128(_mm_srli_epi16(Load128(block.qh), 12), _mm_set1_epi16(7));
    return OddScales(_mm256_broadcastsi128_si256(scales));
  }
};

struct Iq1MPoints {
  using Block = BlockIq1_M;
  static constexpr bool kSigned = false;
  static constexpr int kOffset = 9;
  // The uppermost four bits of each 16, together.
  static float D(const Block& block) {
    uint64_t words;
    memcpy(&words, block.scales, sizeof(words));
    const uint64_t bits =
        (words >> 12 & 0xf) | (words >> 24 & 0xf0) | (words >> 36 & 0xf00) | (words >> 48 & 0xf000);
    return _cvtsh_ss(static_cast<uint16_t>(bits)) * 0.125f;
  }
  using Codes = ShiftedCodes;

  static void Prepare(const Block& block, Codes* codes) {
    const __m128i bytes = Load128(block.qh);
    // A byte for two points, its low half for the first.
    const __m256i place = _mm256_set1_epi32(0x00100100);
    const __m256i first = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(bytes, bytes));
    const __m256i second = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(bytes, bytes));
    StoreIndices(block.qs, _mm256_mullo_epi16(first, place), codes->index);
    StoreIndices(block.qs + 16, _mm256_mullo_epi16(second, place), codes->index + 16);
    KeepInMemory(codes->index);
    // Bit 3 of each half, to where it is a byte's sign.
    const __m128i upper = _mm_slli_epi16(bytes, 4);
    const uint32_t low = static_cast<uint32_t>(_mm_movemask_epi8(_mm_unpacklo_epi8(upper, bytes)));
    const uint32_t high = static_cast<uint32_t>(_mm_movemask_epi8(_mm_unpackhi_epi8(upper, bytes)));
    codes->down = low | high << 16;
  }
  static __m256i Points(const Codes& codes, int b) { return ShiftedWeights(codes, b); }
  static __m256i Scales(const Block& block) {
    // Three bits of sixteen to the top of words of their own, and down from there.
    const __m128i words = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block.scales));
    const __m256i twice = _mm256_broadcastsi128_si256(_mm_unpacklo_epi16(words, words));
    const __m256i places =
        _mm256_setr_epi16(8192, 128, 8192, 128, 8192, 128, 8192, 128,  // bits 0 and 6: first halves
                          1024, 16, 1024, 16, 1024, 16, 1024, 16);     // bits 3 and 9
    return OddScales(_mm256_srli_epi16(_mm256_mullo_epi16(twice, places), 13));
  }
};

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_POINTS_IQ1_H_
