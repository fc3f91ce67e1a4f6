// Decoders of Q4_K and Q5_K (kernels/formats/k_quants.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_K_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_K_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

// Scales and minima of six bits (Q4_K, Q5_K) for blocks sub and sub + 1, a byte each; `at`: the
// block, whose F16 d and dmin lie in front of them. Scales and minima 0 to 3 are the low bits of
// bytes 0-3 and 4-7; those of 4 to 7 lie in bytes 8-11 and the tops of the others.
struct SixBits {
  uint32_t scales, minima;
};
template <Reading kHow>
BERTH_CARD SixBits SixBitScales(const uint8_t* at, uint32_t sub) {
  uint32_t packed[3];
  LoadWords<kHow, 4>(at, 0, packed);
  const uint32_t shift = 8 * (sub & 3);
  const uint32_t first = packed[0] >> shift;
  const uint32_t second = packed[1] >> shift;
  const uint32_t third = packed[2] >> shift;
  if (sub < 4) return {first & 0x3f3f, second & 0x3f3f};
  return {(third & 0x0f0f) | ((first >> 2) & 0x3030),
          ((third >> 4) & 0x0f0f) | ((second >> 2) & 0x3030)};
}
template <Reading kHow>
BERTH_CARD void SixBitScales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
  const SixBits six = SixBitScales<kHow>(at, sub);
  const uint32_t floats = LoadWord<kHow, 0>(at, 0);
  scales->d[0] = FloatOfF16(floats & 0xffff);
  scales->scale[0] = static_cast<int32_t>(six.scales & 0xff);
  scales->minimum[0] = FloatOfF16(floats >> 16) * static_cast<float>(six.minima & 0xff);
}
template <Reading kHow>
BERTH_CARD void SixBitScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
  const SixBits six = SixBitScales<kHow>(at, sub);
  const uint32_t floats = LoadWord<kHow, 0>(at, 0);
  const float dmin = FloatOfF16(floats >> 16);
  scales[0].d[0] = scales[1].d[0] = FloatOfF16(floats & 0xffff);
  scales[0].scale[0] = static_cast<int32_t>(six.scales & 0xff);
  scales[1].scale[0] = static_cast<int32_t>((six.scales >> 8) & 0xff);
  scales[0].minimum[0] = dmin * static_cast<float>(six.minima & 0xff);
  scales[1].minimum[0] = dmin * static_cast<float>((six.minima >> 8) & 0xff);
}

struct CardQ4_K : CardDecoder<CardQ4_K>, NoTable {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 144;
  static constexpr GroupKind kKind = {.scales = true, .minima = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    LoadWords<kHow, 16>(at, 16 * (sub & 6), words);
    const uint32_t shift = 4 * (sub & 1);
    for (uint32_t& word : words) word = (word >> shift) & kLowNibbles;
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable&,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[8];
    LoadWords<kHow, 16>(at, 16 * sub, q);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) {
      const Nibbles nibbles = SplitNibbles(q[i]);
      words[0][i] = nibbles.low;
      words[1][i] = nibbles.high;
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    LoadWords<kHow, 16>(at, 16 * (sub & 6) + 8 * t, words);
    const uint32_t shift = 4 * (sub & 1);
    for (uint32_t& word : words) word = (word >> shift) & kLowNibbles;
  }
  template <Reading kHow>
  BERTH_CARD static void PairOfTwo(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                                   uint32_t (&words)[2][2]) {
    uint32_t q[2];
    LoadWords<kHow, 16>(at, 16 * sub + 8 * t, q);
    BERTH_UNROLL
    for (int i = 0; i < 2; ++i) {
      const Nibbles nibbles = SplitNibbles(q[i]);
      words[0][i] = nibbles.low;
      words[1][i] = nibbles.high;
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    SixBitScales<kHow>(at, sub, scales);
  }
  template <Reading kHow>
  BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
    SixBitScalesOfTwo<kHow>(at, sub, scales);
  }
};

struct CardQ5_K : CardDecoder<CardQ5_K>, NoTable {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 176;
  static constexpr GroupKind kKind = {.scales = true, .minima = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable&,
                               uint32_t (&words)[8]) {
    uint32_t fifths[8];
    LoadWords<kHow, 16>(at, 0, fifths);
    LoadWords<kHow, 48>(at, 16 * (sub & 6), words);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) words[i] = Word(words[i] >> (4 * (sub & 1)), fifths[i], sub);
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable&,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[8], fifths[8];
    LoadWords<kHow, 16>(at, 0, fifths);
    LoadWords<kHow, 48>(at, 16 * sub, q);
    BERTH_UNROLL
    for (int i = 0; i < 8; ++i) Two(q[i], fifths[i], sub, &words[0][i], &words[1][i]);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    uint32_t fifths[2];
    LoadWords<kHow, 16>(at, 8 * t, fifths);
    LoadWords<kHow, 48>(at, 16 * (sub & 6) + 8 * t, words);
    BERTH_UNROLL
    for (int i = 0; i < 2; ++i) words[i] = Word(words[i] >> (4 * (sub & 1)), fifths[i], sub);
  }
  template <Reading kHow>
  BERTH_CARD static void PairOfTwo(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable&,
                                   uint32_t (&words)[2][2]) {
    uint32_t q[2], fifths[2];
    LoadWords<kHow, 16>(at, 8 * t, fifths);
    LoadWords<kHow, 48>(at, 16 * sub + 8 * t, q);
    BERTH_UNROLL
    for (int i = 0; i < 2; ++i) Two(q[i], fifths[i], sub, &words[0][i], &words[1][i]);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    SixBitScales<kHow>(at, sub, scales);
  }
  template <Reading kHow>
  BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
    SixBitScalesOfTwo<kHow>(at, sub, scales);
  }

 private:
  static constexpr uint32_t kFifths = 0x10101010;
  // A word of block `sub`, which is even, and one of the next.
  BERTH_CARD static void Two(uint32_t q, uint32_t fifths, uint32_t sub, uint32_t* first,
                             uint32_t* second) {
    const uint32_t turned = RotateRight(fifths, (sub + 29) & 31);  // bits sub, sub + 1 to 3, 4
    *first = (turned & (kFifths >> 1)) * 2 + (q & kLowNibbles);
    *second = (turned & kFifths) | ((q >> 4) & kLowNibbles);
  }
  // Bit `sub` of each byte of `fifths` above the four bits of `low`.
  BERTH_CARD static uint32_t Word(uint32_t low, uint32_t fifths, uint32_t sub) {
    return (low & kLowNibbles) | (RotateRight(fifths, (sub + 28) & 31) & kFifths);
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_K_H_
