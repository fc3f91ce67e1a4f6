// Decoders of the formats with one float scale per block (kernels/formats/legacy.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_LEGACY_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_LEGACY_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

// Blocks that begin with the F16 scale of all their weights.
template <Reading kHow>
BERTH_CARD void ScaleInFront(const uint8_t* at, BlockScales* scales) {
  scales->d[0] = FloatOfF16(LoadHalf<kHow>(at));
}

struct CardQ4_0 : CardDecoder<CardQ4_0>, NoTable {
  static constexpr uint32_t kElements = 32;
  static constexpr uint32_t kBytes = 18;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t, const CardTable&,
                               uint32_t (&words)[8]) {
    uint32_t q[4];
    LoadWords<kHow, 2>(at, 0, q);
    BERTH_UNROLL
    for (int i = 0; i < 4; ++i) {
      words[i] = Centred<8>(q[i]);
      words[4 + i] = Centred<8>(q[i] >> 4);
    }
  }
  // Words of what is stored, which is so much more than the weights.
  static constexpr uint32_t kRaisedBy = 8;
  template <Reading kHow>
  BERTH_CARD static void Raised(const uint8_t* at, uint32_t, uint32_t (&words)[8]) {
    uint32_t q[4];
    LoadWords<kHow, 2>(at, 0, q);
    BERTH_UNROLL
    for (int i = 0; i < 4; ++i) {
      words[i] = q[i] & 0x0f0f0f0f;
      words[4 + i] = (q[i] >> 4) & 0x0f0f0f0f;
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    LoadWords<kHow, 2>(at, 8 * (t & 1), words);
    const uint32_t shift = 2 * (t & 2);
    for (uint32_t& word : words) word = Centred<8>(word >> shift);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    ScaleInFront<kHow>(at, scales);
  }
};

struct CardQ8_0 : CardDecoder<CardQ8_0>, NoTable {
  static constexpr uint32_t kElements = 32;
  static constexpr uint32_t kBytes = 34;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t, const CardTable&,
                               uint32_t (&words)[8]) {
    LoadWords<kHow, 2>(at, 0, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t, uint32_t t, const CardTable&,
                              uint32_t (&words)[2]) {
    LoadWords<kHow, 2>(at, 8 * t, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    ScaleInFront<kHow>(at, scales);
  }
};

// A word of weights to a byte: four times two bits, lowest first, that are one more than the
// weight.
struct CardQ2_0 : CardDecoder<CardQ2_0> {
  static constexpr uint32_t kElements = 64;
  static constexpr uint32_t kBytes = 18;
  static constexpr GroupKind kKind = {};
  static constexpr uint32_t kTableWords = kLevelsByTable ? 256 : 0;
  BERTH_CARD static uint32_t TableWord(uint32_t i) { return Spread(i); }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    uint32_t q[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    Four(q[0], table, words, 0);
    Four(q[1], table, words, 4);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    const uint32_t q = LoadHalf<kHow>(at + 2 + 8 * sub + 2 * t);
    words[0] = Weights<0>(q, table);
    words[1] = Weights<1>(q, table);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    ScaleInFront<kHow>(at, scales);
  }

 private:
  BERTH_CARD static void Four(uint32_t q, const CardTable& table, uint32_t (&words)[8],
                              uint32_t first) {
    words[first] = Weights<0>(q, table);
    words[first + 1] = Weights<1>(q, table);
    words[first + 2] = Weights<2>(q, table);
    words[first + 3] = Weights<3>(q, table);
  }
  template <uint32_t kByte>
  BERTH_CARD static uint32_t Weights(uint32_t q, const CardTable& table) {
    if constexpr (kLevelsByTable) return table.OfByte<kByte>(q);
    return Spread((q >> (8 * kByte)) & 0xff);
  }
  BERTH_CARD static uint32_t Spread(uint32_t byte) {
    const uint32_t nibbles = (byte | byte << 12) & 0x000f000f;
    return Minus<1>((nibbles | nibbles << 6) & 0x03030303);
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_LEGACY_H_
