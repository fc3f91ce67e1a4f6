// Decoders of TQ1_0 and TQ2_0 (kernels/formats/ternary.cc), and of Q1_0 (legacy.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_TERNARY_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_TERNARY_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_lattice.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

struct CardTq1_0 : CardDecoder<CardTq1_0>, NoTable {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 54;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 8; ++i) words[i] = Word<kHow>(at, 8 * sub + i);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) words[i] = Word<kHow>(at, 8 * sub + 2 * t + i);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at + 52));
  }

 private:
  // Word i of 64: five digits of 32 bytes, five of 16 bytes, four of 4 bytes.
  template <Reading kHow>
  BERTH_CARD static uint32_t Word(const uint8_t* at, uint32_t i) {
    if (i < 40) return Digits(LoadWord<kHow, 0>(at, 4 * (i % 8)), i / 8);
    if (i < 60) return Digits(LoadWord<kHow, 32>(at, 4 * (i % 4)), (i - 40) / 4);
    return Digits(LoadWord<kHow, 48>(at, 0), i - 60);
  }
  // Digit n of each byte, minus 1. Multiplying by 3^n modulo 256 drops the digits before, by 3 once
  // more brings the digit above the point.
  BERTH_CARD static uint32_t Digits(uint32_t q, uint32_t n) {
    const uint32_t power = n < 2 ? 1 + 2 * n : n == 2 ? 9 : n == 3 ? 27 : 81;
    const uint32_t even = ((q & 0x00ff00ff) * power) & 0x00ff00ff;
    const uint32_t odd = (((q >> 8) & 0x00ff00ff) * power) & 0x00ff00ff;
    return Minus<1>(((even * 3 >> 8) & 0x00030003) | ((odd * 3) & 0x03000300));
  }
};

struct CardTq2_0 : CardDecoder<CardTq2_0>, NoTable {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 66;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    LoadWords<kHow, 0>(at, 8 * (sub & 4), words);
    for (uint32_t& word : words) word = Digits(word, sub);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    LoadWords<kHow, 0>(at, 8 * (sub & 4) + 8 * t, words);
    for (uint32_t& word : words) word = Digits(word, sub);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at + 64));
  }

 private:
  BERTH_CARD static uint32_t Digits(uint32_t q, uint32_t sub) {
    return Minus<1>((q >> (2 * (sub & 3))) & 0x03030303);
  }
};

struct CardQ1_0 : CardDecoder<CardQ1_0>, NoTable {
  static constexpr uint32_t kElements = 128;
  static constexpr uint32_t kBytes = 18;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    const uint32_t clear = ~LoadWord<kHow, 2>(at, 4 * sub);
    Two<0>(clear, words, 0);
    Two<1>(clear, words, 2);
    Two<2>(clear, words, 4);
    Two<3>(clear, words, 6);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    Two<0>(~static_cast<uint32_t>(at[2 + 4 * sub + t]), words, 0);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at));
  }

 private:
  // -1 where a bit of byte kByte is set, else 1.
  template <uint32_t kByte, uint32_t kCount>
  BERTH_CARD static void Two(uint32_t clear, uint32_t (&words)[kCount], uint32_t first) {
    const SignMasks masks = MasksOfSigns<kByte>(clear);
    words[first] = masks.low | kOnes;
    words[first + 1] = masks.high | kOnes;
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_TERNARY_H_
