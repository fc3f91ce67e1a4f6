// Decoders of Q2_K and Q3_K (kernels/formats/k_quants.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_K_FEW_BITS_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_K_FEW_BITS_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

// Where the two bits of 32 weights of a block of 256 lie: 32 bytes for 128 weights, at bit
// 2 (sub mod 4) of each byte.
inline constexpr uint32_t kPairs = 0x03030303;
BERTH_CARD uint32_t PairsAt(uint32_t sub) { return 8 * (sub & 4); }
BERTH_CARD uint32_t PairsShift(uint32_t sub) { return 2 * (sub & 3); }

struct CardQ2_K : CardDecoder<CardQ2_K>, NoTable {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 84;
  static constexpr GroupKind kKind = {.scales = true, .halves = true, .minima = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    LoadWords<kHow, 16>(at, PairsAt(sub), words);
    for (uint32_t& word : words) word = (word >> PairsShift(sub)) & kPairs;
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable&,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[8];
    LoadWords<kHow, 16>(at, PairsAt(sub), q);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) {
      const uint32_t shifted = q[i] >> PairsShift(sub);
      words[0][i] = shifted & kPairs;
      words[1][i] = (shifted >> 2) & kPairs;
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t q = LoadWord<kHow, 16>(at, PairsAt(sub) + 4 * t + 16 * i);
      words[i] = (q >> PairsShift(sub)) & kPairs;
    }
  }
  template <Reading kHow>
  BERTH_CARD static void PairOfTwo(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                                   uint32_t (&words)[2][2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t q = LoadWord<kHow, 16>(at, PairsAt(sub) + 4 * t + 16 * i);
      const uint32_t shifted = q >> PairsShift(sub);
      words[0][i] = shifted & kPairs;
      words[1][i] = (shifted >> 2) & kPairs;
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    const uint32_t floats = LoadWord<kHow, 80>(at, 0);
    SetScales(floats, LoadHalf<kHow>(at + 2 * sub), scales);
  }
  template <Reading kHow>
  BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
    const uint32_t floats = LoadWord<kHow, 80>(at, 0);
    const uint32_t packed = LoadWord<kHow, 0>(at, 2 * sub);
    SetScales(floats, packed, &scales[0]);
    SetScales(floats, packed >> 16, &scales[1]);
  }

 private:
  BERTH_CARD static void SetScales(uint32_t floats, uint32_t packed, BlockScales* scales) {
    const float dmin = FloatOfF16(floats >> 16);
    scales->d[0] = FloatOfF16(floats & 0xffff);
    scales->scale[0] = static_cast<int32_t>(packed & 15);
    scales->scale[1] = static_cast<int32_t>((packed >> 8) & 15);
    scales->minimum[0] = dmin * static_cast<float>((packed >> 4) & 15);
    scales->minimum[1] = dmin * static_cast<float>((packed >> 12) & 15);
  }
};

struct CardQ3_K : CardDecoder<CardQ3_K>, NoTable {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 110;
  static constexpr GroupKind kKind = {.scales = true, .halves = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    uint32_t thirds[8];
    LoadWords<kHow, 0>(at, 0, thirds);
    LoadWords<kHow, 32>(at, PairsAt(sub), words);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) words[i] = Word<0>(words[i] >> PairsShift(sub), thirds[i] >> sub);
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable&,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[8], thirds[8];
    LoadWords<kHow, 0>(at, 0, thirds);
    LoadWords<kHow, 32>(at, PairsAt(sub), q);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) {
      Two(q[i] >> PairsShift(sub), thirds[i] >> sub, &words[0][i], &words[1][i]);
    }
  }
  // Words of what is stored, which is so much more than the weights.
  static constexpr uint32_t kRaisedBy = 4;
  template <Reading kHow>
  BERTH_CARD static void Raised(const uint8_t* at, uint32_t sub, uint32_t (&words)[8]) {
    uint32_t thirds[8];
    LoadWords<kHow, 0>(at, 0, thirds);
    LoadWords<kHow, 32>(at, PairsAt(sub), words);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) {
      words[i] = ((words[i] >> PairsShift(sub)) & kPairs) |
                 (RotateRight(thirds[i], (sub + 30) & 31) & (4 * kOnes));
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t q = LoadWord<kHow, 32>(at, PairsAt(sub) + 4 * t + 16 * i);
      const uint32_t thirds = LoadWord<kHow, 0>(at, 4 * t + 16 * i);
      words[i] = Word<0>(q >> PairsShift(sub), thirds >> sub);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void PairOfTwo(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                                   uint32_t (&words)[2][2]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t q = LoadWord<kHow, 32>(at, PairsAt(sub) + 4 * t + 16 * i);
      const uint32_t thirds = LoadWord<kHow, 0>(at, 4 * t + 16 * i);
      Two(q >> PairsShift(sub), thirds >> sub, &words[0][i], &words[1][i]);
    }
  }
  // Of sixteen scales the low four bits lie in nibbles of 8 bytes, low nibbles first, the others
  // four times two bits in 4 bytes.
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    const uint32_t low = LoadHalf<kHow>(at + 96 + 2 * (sub & 3)) >> (sub & 4);
    const uint32_t high = LoadHalf<kHow>(at + 104 + 2 * (sub & 1)) >> (sub & 6);
    const uint32_t both = (low & 0x0f0f) | ((high & 0x0303) << 4);
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at + 108));
    scales->scale[0] = static_cast<int32_t>(both & 0xff) - 32;
    scales->scale[1] = static_cast<int32_t>(both >> 8) - 32;
  }

 private:
  // A word of a block and one of the next, whose bits lie beside.
  BERTH_CARD static void Two(uint32_t low, uint32_t third, uint32_t* first, uint32_t* second) {
    *first = Word<0>(low, third);
    *second = Word<1>(low >> 2, third);
  }
  // The two bits of each byte of `low`, minus 4 where bit kBit of `third` is clear.
  template <uint32_t kBit>
  BERTH_CARD static uint32_t Word(uint32_t low, uint32_t third) {
    if constexpr (kNibbleSelectors) {  // as Centred, but for the place of the bit
      return (~third & (kOnes << kBit)) * (0xfc >> kBit) + (low & kPairs);
    } else {
      return Minus<4>((low & kPairs) | ((third << (2 - kBit)) & (4 * kOnes)));
    }
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_K_FEW_BITS_H_
