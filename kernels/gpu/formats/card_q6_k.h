// Decoder of Q6_K (kernels/formats/k_quants.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_Q6_K_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_Q6_K_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

struct CardQ6_K : CardDecoder<CardQ6_K>, NoTable {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 210;
  static constexpr GroupKind kKind = {.scales = true, .halves = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    uint32_t high[8];
    LoadWords<kHow, 0>(at, LowAt(sub), words);
    LoadWords<kHow, 128>(at, HighAt(sub), high);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) {
      words[i] = Word<4>(words[i] >> LowShift(sub), Turned<4>(high[i], sub));
    }
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable&,
                                    uint32_t (&words)[2][8]) {
    uint32_t high[8];
    LoadWords<kHow, 0>(at, LowAt(sub), words[0]);
    LoadWords<kHow, 0>(at, LowAt(sub) + 32, words[1]);
    LoadWords<kHow, 128>(at, HighAt(sub), high);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) {
      const uint32_t turned = Turned<2>(high[i], sub);
      words[0][i] = Word<2>(words[0][i] >> LowShift(sub), turned);
      words[1][i] = Word<4>(words[1][i] >> LowShift(sub), turned);
    }
  }
  // Words of what is stored, which is so much more than the weights.
  static constexpr uint32_t kRaisedBy = 32;
  template <Reading kHow>
  BERTH_CARD static void Raised(const uint8_t* at, uint32_t sub, uint32_t (&words)[8]) {
    uint32_t high[8];
    LoadWords<kHow, 0>(at, LowAt(sub), words);
    LoadWords<kHow, 128>(at, HighAt(sub), high);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) {
      words[i] =
          ((words[i] >> LowShift(sub)) & kLowNibbles) | (Turned<4>(high[i], sub) & 0x30303030);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t low = LoadWord<kHow, 0>(at, LowAt(sub) + 4 * t + 16 * i);
      const uint32_t high = LoadWord<kHow, 128>(at, HighAt(sub) + 4 * t + 16 * i);
      words[i] = Word<4>(low >> LowShift(sub), Turned<4>(high, sub));
    }
  }
  template <Reading kHow>
  BERTH_CARD static void PairOfTwo(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                                   uint32_t (&words)[2][2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t further = 4 * t + 16 * i;
      const uint32_t high = LoadWord<kHow, 128>(at, HighAt(sub) + further);
      const uint32_t turned = Turned<2>(high, sub);
      words[0][i] = Word<2>(LoadWord<kHow, 0>(at, LowAt(sub) + further) >> LowShift(sub), turned);
      words[1][i] =
          Word<4>(LoadWord<kHow, 0>(at, LowAt(sub) + 32 + further) >> LowShift(sub), turned);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    const uint32_t two = LoadHalf<kHow>(at + 192 + 2 * sub);
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at + 208));
    scales->scale[0] = static_cast<int8_t>(two & 0xff);
    scales->scale[1] = static_cast<int8_t>(two >> 8);
  }

 private:
  // Where the low four and (behind 128 bytes) the high two bits of 32 weights lie, and at which bit
  // of each byte.
  BERTH_CARD static uint32_t LowAt(uint32_t sub) { return 16 * (sub & 4) + 32 * (sub & 1); }
  BERTH_CARD static uint32_t LowShift(uint32_t sub) { return 2 * (sub & 2); }
  BERTH_CARD static uint32_t HighAt(uint32_t sub) { return 8 * (sub & 4); }
  // Turns the high bits of `sub` to bit kTo of each byte, those of the next block beside them.
  template <uint32_t kTo>
  BERTH_CARD static uint32_t Turned(uint32_t high, uint32_t sub) {
    return RotateRight(high, (2 * (sub & 3) + 32 - kTo) & 31);
  }
  // The high bits at bit kFrom of each byte.
  template <uint32_t kFrom>
  BERTH_CARD static uint32_t Word(uint32_t low, uint32_t high) {
    if constexpr (kNibbleSelectors) {
      // As Centred, but for the place of the bits.
      constexpr uint32_t kFifth = kOnes << kFrom;
      constexpr uint32_t kUp = 1 << (4 - kFrom);
      return (~high & (2 * kFifth)) * (7 * kUp) + ((high & kFifth) * kUp | (low & kLowNibbles));
    } else {
      return Minus<32>((low & kLowNibbles) | ((high << (4 - kFrom)) & 0x30303030));
    }
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_Q6_K_H_
