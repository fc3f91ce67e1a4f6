// Decoders of Q4_1, Q5_0 and Q5_1 (kernels/formats/legacy.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_FIVE_BITS_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_FIVE_BITS_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

// F16 scale and minimum in front; the minimum is added.
template <Reading kHow>
BERTH_CARD void ScaleAndMinimumInFront(const uint8_t* at, BlockScales* scales) {
  scales->d[0] = FloatOfF16(LoadHalf<kHow>(at));
  scales->minimum[0] = -FloatOfF16(LoadHalf<kHow>(at + 2));
}
// Bits 4 i to 4 i + 3 of `fifths`, each in bit 4 of a byte.
BERTH_CARD uint32_t FifthBits(uint32_t fifths, uint32_t i) {
  return (((fifths >> (4 * i)) & 15) * 0x02040810u) & 0x10101010;
}
// Words of five bits: 16 bytes of nibbles, kAt behind `at`, the low ones first, and 32 bits beside
// them.
template <Reading kHow, uint32_t kAt>
BERTH_CARD void FiveBitWords(const uint8_t* at, uint32_t fifths, uint32_t (&words)[8]) {
  uint32_t q[4];
  LoadWords<kHow, kAt>(at, 0, q);
  BERTH_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    const Nibbles nibbles = SplitNibbles(q[i]);
    words[i] = nibbles.low | FifthBits(fifths, i);
    words[4 + i] = nibbles.high | FifthBits(fifths, 4 + i);
  }
}
template <Reading kHow, uint32_t kAt>
BERTH_CARD void FiveBitPair(const uint8_t* at, uint32_t fifths, uint32_t t, uint32_t (&words)[2]) {
  LoadWords<kHow, kAt>(at, 8 * (t & 1), words);
  BERTH_UNROLL
  for (uint32_t i = 0; i < 2; ++i) {
    words[i] = ((words[i] >> (2 * (t & 2))) & kLowNibbles) | FifthBits(fifths, 2 * t + i);
  }
}

struct CardQ4_1 : CardDecoder<CardQ4_1>, NoTable {
  static constexpr uint32_t kElements = 32;
  static constexpr uint32_t kBytes = 20;
  static constexpr GroupKind kKind = {.minima = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t, const CardTable&,
                               uint32_t (&words)[8]) {
    FiveBitWords<kHow, 4>(at, 0, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    FiveBitPair<kHow, 4>(at, 0, t, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    ScaleAndMinimumInFront<kHow>(at, scales);
  }
};

struct CardQ5_0 : CardDecoder<CardQ5_0>, NoTable {
  static constexpr uint32_t kElements = 32;
  static constexpr uint32_t kBytes = 22;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t, const CardTable&,
                               uint32_t (&words)[8]) {
    FiveBitWords<kHow, 6>(at, LoadWord<kHow, 2>(at, 0), words);
    for (uint32_t& word : words) word = Minus<16>(word);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    FiveBitPair<kHow, 6>(at, LoadWord<kHow, 2>(at, 0), t, words);
    for (uint32_t& word : words) word = Minus<16>(word);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at));
  }
};

struct CardQ5_1 : CardDecoder<CardQ5_1>, NoTable {
  static constexpr uint32_t kElements = 32;
  static constexpr uint32_t kBytes = 24;
  static constexpr GroupKind kKind = {.minima = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t, const CardTable&,
                               uint32_t (&words)[8]) {
    FiveBitWords<kHow, 8>(at, LoadWord<kHow, 4>(at, 0), words);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    FiveBitPair<kHow, 8>(at, LoadWord<kHow, 4>(at, 0), t, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    ScaleAndMinimumInFront<kHow>(at, scales);
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_FIVE_BITS_H_
