// Weights of four bits, eight in a word: plain integers, or numbers of sixteen levels.
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_NIBBLES_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_NIBBLES_H_

#include <cstdint>

#include "kernels/gpu/formats/card_bits.h"
#include "kernels/gpu/formats/card_format.h"

namespace berth::kernels::gpu {

inline constexpr uint32_t kLowNibbles = 0x0f0f0f0f;

// The nibbles of each byte, apart.
struct Nibbles {
  uint32_t low, high;
};
BERTH_CARD Nibbles SplitNibbles(uint32_t q) { return {q & kLowNibbles, (q >> 4) & kLowNibbles}; }
// Two words whose nibbles at bit `shift` of each byte are wanted, as one: the first one's low.
BERTH_CARD uint32_t JoinNibbles(uint32_t first, uint32_t second, uint32_t shift) {
  return ((first >> shift) & kLowNibbles) | (((second >> shift) & kLowNibbles) << 4);
}

// NVIDIA's pipe for permutes and logic has less time for a block than these formats would like to
// have, and so has its shared memory: of a block's levels half are looked up there, two at a time,
// and put together on other pipes, the other half are permuted. Radeon's shared memory is slower,
// its permutes are faster.
inline constexpr bool kLevelsByTable = kNibbleSelectors;

// Sixteen levels, four to a word, the first in the lowest byte.
template <uint32_t kWord0, uint32_t kWord1, uint32_t kWord2, uint32_t kWord3>
struct Levels {
  // Word i: the level of the low nibble of byte i, and 16 bits higher that of its high nibble.
  static constexpr uint32_t kTableWords = kLevelsByTable ? 256 : 0;
  BERTH_CARD static uint32_t TableWord(uint32_t i) { return Level(i & 15) | Level(i >> 4) << 16; }

  // The levels that the nibbles of q number.
  template <bool kByTable = kLevelsByTable>
  BERTH_CARD static Nibbles Of(uint32_t q, const CardTable& table) {
    if constexpr (kByTable) {
      const uint32_t first = table.OfByte<1>(q) * 256 + table.OfByte<0>(q);
      const uint32_t second = table.OfByte<3>(q) * 256 + table.OfByte<2>(q);
      return {Bytes<0, 1, 4, 5>(first, second), Bytes<2, 3, 6, 7>(first, second)};
    } else if constexpr (kNibbleSelectors) {
      const uint32_t among_eight = q & 0x77777777;
      const uint32_t choice = 0x32103210 | ((q >> 1) & 0x44444444);
      const uint32_t first = OfFour(among_eight, choice);
      const uint32_t second = OfFour(among_eight >> 16, choice >> 16);
      return {Bytes<0, 2, 4, 6>(first, second), Bytes<1, 3, 5, 7>(first, second)};
    } else {
      return {OfLow(q), OfLow(q >> 4)};
    }
  }

 private:
  BERTH_CARD static uint32_t Level(uint32_t i) {
    const uint32_t word = i < 8 ? (i < 4 ? kWord0 : kWord1) : (i < 12 ? kWord2 : kWord3);
    return (word >> (8 * (i % 4))) & 0xff;
  }
  // Each number among the lower eight levels and among the upper ones by its low three bits, then
  // the fourth bit chooses.
  BERTH_CARD static uint32_t OfFour(uint32_t among_eight, uint32_t choice) {
    return PermuteNibbles(PermuteNibbles(kWord0, kWord1, among_eight),
                          PermuteNibbles(kWord2, kWord3, among_eight), choice);
  }
  BERTH_CARD static uint32_t OfLow(uint32_t q) {
    const uint32_t among_eight = q & 0x07070707;
    const uint32_t choice = 0x03020100 | ((q >> 1) & 0x04040404);
    return PermuteBytes(PermuteBytes(kWord0, kWord1, among_eight),
                        PermuteBytes(kWord2, kWord3, among_eight), choice);
  }
};

// -127, -104, -83, -65 | -49, -35, -22, -10 | 1, 13, 25, 38 | 53, 69, 89, 113
using LevelsIq4 = Levels<0xbfad9881, 0xf6eaddcf, 0x26190d01, 0x71594535>;
// 0, 1, 2, 3 | 4, 6, 8, 12 and their negatives
using LevelsFloat4 = Levels<0x03020100, 0x0c080604, 0xfdfeff00, 0xf4f8fafc>;

// 32 weights in 16 bytes that lie kAt + `further` behind the block: the low nibbles, then the high
// ones.
template <typename Levels, Reading kHow, uint32_t kAt>
BERTH_CARD void LevelWords(const uint8_t* at, uint32_t further, const CardTable& table,
                           uint32_t (&words)[8]) {
  uint32_t q[4];
  LoadWords<kHow, kAt>(at, further, q);
  BERTH_UNROLL
  for (int i = 0; i < 4; i += 2) {
    const Nibbles levels = Levels::Of(q[i], table);
    words[i] = levels.low;
    words[4 + i] = levels.high;
    const Nibbles next = Levels::template Of<false>(q[i + 1], table);
    words[i + 1] = next.low;
    words[5 + i] = next.high;
  }
}
template <typename Levels, Reading kHow, uint32_t kAt>
BERTH_CARD void LevelPair(const uint8_t* at, uint32_t further, uint32_t t, const CardTable& table,
                          uint32_t (&words)[2]) {
  LoadWords<kHow, kAt>(at, further + 8 * (t & 1), words);
  const Nibbles levels = Levels::Of(JoinNibbles(words[0], words[1], 2 * (t & 2)), table);
  words[0] = levels.low;
  words[1] = levels.high;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_NIBBLES_H_
