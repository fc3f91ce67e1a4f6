// Decoders of IQ2_XXS, IQ2_XS and IQ2_S (kernels/formats/iq2.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_IQ2_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_IQ2_H_

#include <cstdint>

#include "kernels/formats/codebook_iq2.h"
#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_lattice.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

// Weights are -43 to 43 in six levels, which two bits of the point and a sign select.
inline constexpr uint32_t kLevelsIq2 = 0x002b1908;
inline constexpr uint32_t kMinusIq2 = 0x00d5e7f8;

// Words `first` and `first` + 1: eight weights from one point and its signs.
template <uint32_t kCount>
BERTH_CARD void PointIq2(uint32_t numbers, uint32_t (&words)[kCount], uint32_t first) {
  const Selected weights = Select(kLevelsIq2, kMinusIq2, numbers);
  words[first] = weights.first;
  words[first + 1] = weights.second;
}
BERTH_CARD int32_t ScaleIq2(uint32_t scale) { return static_cast<int32_t>(2 * scale + 1); }
// IQ2_XS and IQ2_S: `packed` holds a scale per 16 weights, lowest first.
BERTH_CARD void ScalesIq2(float d, uint32_t packed, BlockScales* scales) {
  scales->d[0] = d;
  scales->scale[0] = ScaleIq2(packed & 15);
  scales->scale[1] = ScaleIq2((packed >> 4) & 15);
}
// They lie kAt behind the block, a byte for each 32 weights.
template <Reading kHow, uint32_t kAt>
BERTH_CARD void ScalesIq2(const uint8_t* at, uint32_t sub, BlockScales* scales) {
  ScalesIq2(FloatOfF16(LoadHalf<kHow>(at)) * 0.125f, at[kAt + sub], scales);
}
template <Reading kHow, uint32_t kAt>
BERTH_CARD void ScalesOfTwoIq2(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
  const float d = FloatOfF16(LoadHalf<kHow>(at)) * 0.125f;
  const uint32_t packed = LoadHalf<kHow>(at + kAt + sub);
  ScalesIq2(d, packed, &scales[0]);
  ScalesIq2(d, packed >> 8, &scales[1]);
}

BERTH_CARD_TABLE(kTableIq2Xxs, PointsAndSigns<Signs::kSeven>(kCodebookIq2Xxs));

struct CardIq2_Xxs : CardDecoder<CardIq2_Xxs> {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 66;
  static constexpr GroupKind kKind = {.scales = true};
  static constexpr uint32_t kTableWords = 384;
  BERTH_CARD static uint32_t TableWord(uint32_t i) {
    return BERTH_CARD_TABLE_WORD(kTableIq2Xxs, i);
  }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    uint32_t q[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    Eight(q[0], q[1], table, words);
  }
  // The numbers of levels of four points (PointIq2).
  template <Reading kHow>
  BERTH_CARD static void Numbers(const uint8_t* at, uint32_t sub, const CardTable& table,
                                 uint32_t (&numbers)[4]) {
    uint32_t q[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    const uint32_t signs = SpreadSevens(q[1]);
    numbers[0] = table.OfByte<0>(q[0]) | table.OfByte<0, 256>(signs);
    numbers[1] = table.OfByte<1>(q[0]) | table.OfByte<1, 256>(signs);
    numbers[2] = table.OfByte<2>(q[0]) | table.OfByte<2, 256>(signs);
    numbers[3] = table.OfByte<3>(q[0]) | table.OfByte<3, 256>(signs);
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable& table,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[4];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    Eight(q[0], q[1], table, words[0]);
    Eight(q[2], q[3], table, words[1]);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    const uint32_t signs = (LoadWord<kHow, 2>(at, 8 * sub + 4) >> (7 * t)) & 0x7f;
    PointIq2(table.OfByte<0>(at[2 + 8 * sub + t]) | table.OfByte<0, 256>(signs), words, 0);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at)) * 0.125f;
    scales->scale[0] = ScaleIq2(LoadHalf<kHow>(at + 8 + 8 * sub) >> 12);
  }

 private:
  BERTH_CARD static void Eight(uint32_t points, uint32_t packed_signs, const CardTable& table,
                               uint32_t (&words)[8]) {
    const uint32_t signs = SpreadSevens(packed_signs);
    PointIq2(table.OfByte<0>(points) | table.OfByte<0, 256>(signs), words, 0);
    PointIq2(table.OfByte<1>(points) | table.OfByte<1, 256>(signs), words, 2);
    PointIq2(table.OfByte<2>(points) | table.OfByte<2, 256>(signs), words, 4);
    PointIq2(table.OfByte<3>(points) | table.OfByte<3, 256>(signs), words, 6);
  }
};

BERTH_CARD_TABLE(kTableIq2Xs, PointsAndSigns<Signs::kSeven>(kCodebookIq2Xs));

struct CardIq2_Xs : CardDecoder<CardIq2_Xs> {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 74;
  static constexpr GroupKind kKind = {.scales = true, .halves = true};
  static constexpr uint32_t kTableWords = 640;
  BERTH_CARD static uint32_t TableWord(uint32_t i) { return BERTH_CARD_TABLE_WORD(kTableIq2Xs, i); }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    uint32_t q[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    TwoPoints(q[0], table, words, 0);
    TwoPoints(q[1], table, words, 4);
  }
  // The numbers of levels of four points (PointIq2).
  template <Reading kHow>
  BERTH_CARD static void Numbers(const uint8_t* at, uint32_t sub, const CardTable& table,
                                 uint32_t (&numbers)[4]) {
    uint32_t q[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t points = q[i] & 0x01ff01ff, signs = (q[i] >> 9) & 0x007f007f;
      numbers[2 * i] = table.OfHalf<0>(points) | table.OfHalf<0, 512>(signs);
      numbers[2 * i + 1] = table.OfHalf<1>(points) | table.OfHalf<1, 512>(signs);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable& table,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[4];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    TwoPoints(q[0], table, words[0], 0);
    TwoPoints(q[1], table, words[0], 4);
    TwoPoints(q[2], table, words[1], 0);
    TwoPoints(q[3], table, words[1], 4);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t q = LoadHalf<kHow>(at + 2 + 8 * sub + (t & 2) + 4 * i);
      const uint32_t numbers = table.OfHalf<0>(q & 511) | table.OfHalf<0, 512>(q >> 9);
      words[i] = SelectHalf(kLevelsIq2, kMinusIq2, numbers, t & 1);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    ScalesIq2<kHow, 66>(at, sub, scales);
  }
  template <Reading kHow>
  BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
    ScalesOfTwoIq2<kHow, 66>(at, sub, scales);
  }

 private:
  // Four words from two points: of 16 bits each, the lower 9 number it, the others are signs.
  BERTH_CARD static void TwoPoints(uint32_t q, const CardTable& table, uint32_t (&words)[8],
                                   uint32_t first) {
    const uint32_t points = q & 0x01ff01ff;
    const uint32_t signs = (q >> 9) & 0x007f007f;
    PointIq2(table.OfHalf<0>(points) | table.OfHalf<0, 512>(signs), words, first);
    PointIq2(table.OfHalf<1>(points) | table.OfHalf<1, 512>(signs), words, first + 2);
  }
};

BERTH_CARD_TABLE(kTableIq2S, PointsAndSigns<Signs::kEight>(kCodebookIq2S));

struct CardIq2_S : CardDecoder<CardIq2_S> {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 82;
  static constexpr GroupKind kKind = {.scales = true, .halves = true};
  static constexpr uint32_t kTableWords = 1280;
  BERTH_CARD static uint32_t TableWord(uint32_t i) { return BERTH_CARD_TABLE_WORD(kTableIq2S, i); }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    Eight(LoadWord<kHow, 2>(at, 4 * sub), at[66 + sub], LoadWord<kHow, 34>(at, 4 * sub), table,
          words);
  }
  // The numbers of levels of four points (PointIq2).
  template <Reading kHow>
  BERTH_CARD static void Numbers(const uint8_t* at, uint32_t sub, const CardTable& table,
                                 uint32_t (&numbers)[4]) {
    NumbersOf(LoadWord<kHow, 2>(at, 4 * sub), at[66 + sub], LoadWord<kHow, 34>(at, 4 * sub), table,
              numbers);
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable& table,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[2], signs[2];
    LoadWords<kHow, 2>(at, 4 * sub, q);
    LoadWords<kHow, 34>(at, 4 * sub, signs);
    const uint32_t upper = LoadHalf<kHow>(at + 66 + sub);
    Eight(q[0], upper & 0xff, signs[0], table, words[0]);
    Eight(q[1], upper >> 8, signs[1], table, words[1]);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    const uint32_t upper = at[66 + sub];
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t point = 2 * i + t / 2;
      const uint32_t number = at[2 + 4 * sub + point] | ((upper >> (2 * point)) & 3) << 8;
      const uint32_t numbers =
          table.OfHalf<0>(number) | table.OfHalf<0, 1024>(at[34 + 4 * sub + point]);
      words[i] = SelectHalf(kLevelsIq2, kMinusIq2, numbers, t & 1);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    ScalesIq2<kHow, 74>(at, sub, scales);
  }
  template <Reading kHow>
  BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
    ScalesOfTwoIq2<kHow, 74>(at, sub, scales);
  }

 private:
  BERTH_CARD static void NumbersOf(uint32_t q, uint32_t upper, uint32_t signs,
                                   const CardTable& table, uint32_t (&numbers)[4]) {
    // Bits 8 and 9 of a number, of two numbers at once.
    const uint32_t first = Bytes<0, 4, 1, 4>(q, 0) | ((upper * (1u << 8 | 1u << 22)) & 0x03000300);
    const uint32_t second = Bytes<2, 4, 3, 4>(q, 0) | ((upper * (1u << 4 | 1u << 18)) & 0x03000300);
    numbers[0] = table.OfHalf<0>(first) | table.OfByte<0, 1024>(signs);
    numbers[1] = table.OfHalf<1>(first) | table.OfByte<1, 1024>(signs);
    numbers[2] = table.OfHalf<0>(second) | table.OfByte<2, 1024>(signs);
    numbers[3] = table.OfHalf<1>(second) | table.OfByte<3, 1024>(signs);
  }
  BERTH_CARD static void Eight(uint32_t q, uint32_t upper, uint32_t signs, const CardTable& table,
                               uint32_t (&words)[8]) {
    uint32_t numbers[4];
    NumbersOf(q, upper, signs, table, numbers);
    BERTH_UNROLL
    for (uint32_t i = 0; i < 4; ++i) PointIq2(numbers[i], words, 2 * i);
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_IQ2_H_
