// Decoders of IQ1_S and IQ1_M (kernels/formats/iq1.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_IQ1_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_IQ1_H_

#include <cstdint>

#include "kernels/formats/codebook_iq1.h"
#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_lattice.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

// Points of eight numbers: 0, 1, 2 for -8, 0, 8.
constexpr auto MakeTableIq1() {
  TableWords<2048> table{};
  for (uint32_t i = 0; i < 2048; ++i) table.words[i] = NumbersOfPoint(kCodebookIq1[i]);
  return table;
}
BERTH_CARD_TABLE(kTableIq1, MakeTableIq1());

// Weights shifted up by one are selected by the numbers, those shifted down by the numbers plus 4.
inline constexpr uint32_t kUpIq1 = 0x000901f9;
inline constexpr uint32_t kDownIq1 = 0x0007fff7;
BERTH_CARD uint32_t NumbersIq1(const CardTable& table, uint32_t index, bool down) {
  return table.OfHalf<0>(index) | (down ? 0x44444444 : 0);
}
template <uint32_t kCount>
BERTH_CARD void PointIq1(const CardTable& table, uint32_t index, bool down,
                         uint32_t (&words)[kCount], uint32_t first) {
  const Selected weights = Select(kUpIq1, kDownIq1, NumbersIq1(table, index, down));
  words[first] = weights.first;
  words[first + 1] = weights.second;
}

struct CardIq1_S : CardDecoder<CardIq1_S> {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 50;
  static constexpr GroupKind kKind = {.scales = true};
  static constexpr uint32_t kTableWords = 2048;
  BERTH_CARD static uint32_t TableWord(uint32_t i) { return BERTH_CARD_TABLE_WORD(kTableIq1, i); }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    const uint32_t qh = LoadHalf<kHow>(at + 34 + 2 * sub);
    BERTH_UNROLL
    for (uint32_t l = 0; l < 4; ++l) {
      PointIq1(table, Index(at, sub, qh, l), (qh & 0x8000) != 0, words, 2 * l);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    const uint32_t qh = LoadHalf<kHow>(at + 34 + 2 * sub);
    PointIq1(table, Index(at, sub, qh, t), (qh & 0x8000) != 0, words, 0);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    const uint32_t qh = LoadHalf<kHow>(at + 34 + 2 * sub);
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at)) * 0.125f;
    scales->scale[0] = static_cast<int32_t>(2 * ((qh >> 12) & 7) + 1);
  }

 private:
  BERTH_CARD static uint32_t Index(const uint8_t* at, uint32_t sub, uint32_t qh, uint32_t l) {
    return at[2 + 4 * sub + l] | ((qh >> (3 * l)) & 7) << 8;
  }
};

struct CardIq1_M : CardDecoder<CardIq1_M> {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 56;
  static constexpr GroupKind kKind = {.scales = true, .halves = true};
  static constexpr uint32_t kTableWords = 2048;
  BERTH_CARD static uint32_t TableWord(uint32_t i) { return BERTH_CARD_TABLE_WORD(kTableIq1, i); }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    BERTH_UNROLL
    for (uint32_t l = 0; l < 4; ++l) {
      const uint32_t nibble = Nibble(at, sub, l);
      PointIq1(table, Index(at, sub, nibble, l), (nibble & 8) != 0, words, 2 * l);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t l = 2 * i + t / 2;
      const uint32_t nibble = Nibble(at, sub, l);
      const uint32_t index = Index(at, sub, nibble, l);
      words[i] = SelectHalf(kUpIq1, kDownIq1, NumbersIq1(table, index, (nibble & 8) != 0), t & 1);
    }
  }
  // The scale of all is the top nibbles of four words of 16 bits, the others their lower bits,
  // three each.
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    uint32_t bits = 0;
    BERTH_UNROLL
    for (uint32_t w = 0; w < 4; ++w) {
      bits |= LoadHalf<kHow>(at + 48 + 2 * w) >> 12 << (4 * w);
    }
    const uint32_t codes = LoadHalf<kHow>(at + 48 + (sub & 6)) >> (6 * (sub & 1));
    scales->d[0] = FloatOfF16(bits) * 0.125f;
    scales->scale[0] = static_cast<int32_t>(2 * (codes & 7) + 1);
    scales->scale[1] = static_cast<int32_t>(2 * ((codes >> 3) & 7) + 1);
  }

 private:
  BERTH_CARD static uint32_t Nibble(const uint8_t* at, uint32_t sub, uint32_t l) {
    return static_cast<uint32_t>(at[32 + 2 * sub + l / 2]) >> (4 * (l & 1));
  }
  BERTH_CARD static uint32_t Index(const uint8_t* at, uint32_t sub, uint32_t nibble, uint32_t l) {
    return at[4 * sub + l] | (nibble & 7) << 8;
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_IQ1_H_
