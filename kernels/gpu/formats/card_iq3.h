// Decoders of IQ3_XXS and IQ3_S (kernels/formats/iq3.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_IQ3_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_IQ3_H_

#include <cstdint>

#include "kernels/formats/codebook_iq3.h"
#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_lattice.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

// The levels are 4, 12, 20 and so on, whose negatives differ in bits 3 to 7 alone, but for the
// last, 62: its bit 2 differs too. So negation can be one operation of logic: an exclusive or, and
// bit 2 is 1 unless a last level is negative, for which the table holds 0 there.
inline constexpr uint8_t kLevelsIq3Xxs[8] = {4,  12, 20, 28,
                                             36, 44, 52, kNibbleSelectors ? 62 - 4 : 62};
constexpr auto MakeTableIq3Xxs() {
  constexpr uint32_t kPoints = 256, kSigns = 128;
  const auto points = MagnitudesOf(kCodebookIq3Xxs, kLevelsIq3Xxs);
  TableWords<kPoints + kSigns> table{};
  for (uint32_t i = 0; i < kPoints; ++i) table.words[i] = points.words[i];
  for (uint32_t i = 0; i < kSigns; ++i) {
    table.words[kPoints + i] = NumbersOfSigns(i, Signs::kSeven, 1);
  }
  return table;
}
BERTH_CARD_TABLE(kTableIq3Xxs, MakeTableIq3Xxs());

struct CardIq3_Xxs : CardDecoder<CardIq3_Xxs> {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 98;
  static constexpr GroupKind kKind = {.scales = true};
  static constexpr uint32_t kTableWords = 384;
  BERTH_CARD static uint32_t TableWord(uint32_t i) {
    return BERTH_CARD_TABLE_WORD(kTableIq3Xxs, i);
  }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    uint32_t q[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    Eight(q[0], q[1], LoadWord<kHow, 66>(at, 4 * sub), table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable& table,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[4], signs[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    LoadWords<kHow, 66>(at, 4 * sub, signs);
    Eight(q[0], q[1], signs[0], table, words[0]);
    Eight(q[2], q[3], signs[1], table, words[1]);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    const uint32_t q = LoadHalf<kHow>(at + 2 + 8 * sub + 2 * t);
    const uint32_t signs = (LoadWord<kHow, 66>(at, 4 * sub) >> (7 * t)) & 0x7f;
    const Selected minus = Select(kMinusOf, 0, table.OfByte<0, 256>(signs));
    words[0] = Signed(table.OfByte<0>(q), minus.first);
    words[1] = Signed(table.OfByte<1>(q), minus.second);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at)) * 0.25f;
    const uint32_t scale = LoadHalf<kHow>(at + 68 + 4 * sub) >> 12;
    scales->scale[0] = static_cast<int32_t>(2 * scale + 1);
  }

 private:
  // What a sign's number, 0 or 1, stands for: the bits that a minus flips, or the number itself.
  static constexpr uint32_t kMinusOf = kNibbleSelectors ? 0xfc00 : 0x0100;
  // Four magnitudes with their signs.
  BERTH_CARD static uint32_t Signed(uint32_t magnitudes, uint32_t minus) {
    if constexpr (kNibbleSelectors) {
      constexpr uint32_t kTruth =
          ((kTruthA ^ kTruthB) & ~kTruthC) | ((kTruthA | ~kTruthB) & kTruthC);
      return Logic<kTruth>(magnitudes, minus, 4 * kOnes);
    } else {
      // One more than the complement, which is never 0xff.
      return (magnitudes ^ PermuteBytes(0xff00, 0, minus)) + minus;
    }
  }
  template <uint32_t kByte>
  BERTH_CARD static void Two(uint32_t q, uint32_t first, uint32_t signs, const CardTable& table,
                             uint32_t (&words)[8]) {
    const Selected minus = Select(kMinusOf, 0, table.OfByte<kByte, 256>(signs));
    words[first] = Signed(table.OfByte<2 * (kByte % 2)>(q), minus.first);
    words[first + 1] = Signed(table.OfByte<2 * (kByte % 2) + 1>(q), minus.second);
  }
  BERTH_CARD static void Eight(uint32_t q0, uint32_t q1, uint32_t packed_signs,
                               const CardTable& table, uint32_t (&words)[8]) {
    const uint32_t signs = SpreadSevens(packed_signs);
    Two<0>(q0, 0, signs, table, words);
    Two<1>(q0, 2, signs, table, words);
    Two<2>(q1, 4, signs, table, words);
    Two<3>(q1, 6, signs, table, words);
  }
};

inline constexpr uint8_t kLevelsIq3S[8] = {1, 3, 5, 7, 9, 11, 13, 15};
BERTH_CARD_TABLE(kTableIq3S, MagnitudesOf(kCodebookIq3S, kLevelsIq3S));

struct CardIq3_S : CardDecoder<CardIq3_S> {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 110;
  static constexpr GroupKind kKind = {.scales = true};
  static constexpr uint32_t kTableWords = 512;
  BERTH_CARD static uint32_t TableWord(uint32_t i) { return BERTH_CARD_TABLE_WORD(kTableIq3S, i); }

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    uint32_t q[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    Eight(q[0], q[1], at[66 + sub], LoadWord<kHow, 74>(at, 4 * sub), table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable& table,
                                    uint32_t (&words)[2][8]) {
    uint32_t q[4], signs[2];
    LoadWords<kHow, 2>(at, 8 * sub, q);
    LoadWords<kHow, 74>(at, 4 * sub, signs);
    const uint32_t ninths = LoadHalf<kHow>(at + 66 + sub);
    Eight(q[0], q[1], ninths & 0xff, signs[0], table, words[0]);
    Eight(q[2], q[3], ninths >> 8, signs[1], table, words[1]);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    const uint32_t q = LoadHalf<kHow>(at + 2 + 8 * sub + 2 * t);
    const uint32_t ninths = static_cast<uint32_t>(at[66 + sub]) >> (2 * t);
    Signed<0>(Bytes<0, 4, 1, 4>(q, 0) | Ninths<0>(ninths & 3), at[74 + 4 * sub + t], table, words,
              0);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at));
    const uint32_t scale = (static_cast<uint32_t>(at[106 + sub / 2]) >> (4 * (sub & 1))) & 15;
    scales->scale[0] = static_cast<int32_t>(1 + 2 * scale);
  }

 private:
  // Bits kPair and kPair + 1 of `ninths` (8 bits), at bits 8 and 24.
  template <uint32_t kPair>
  BERTH_CARD static uint32_t Ninths(uint32_t ninths) {
    return (ninths * (1u << (8 - kPair) | 1u << (23 - kPair))) & 0x01000100;
  }
  // Words `first` and `first` + 1 from two numbers of points and byte kByte of the signs.
  template <uint32_t kByte, uint32_t kCount>
  BERTH_CARD static void Signed(uint32_t numbers, uint32_t signs, const CardTable& table,
                                uint32_t (&words)[kCount], uint32_t first) {
    const SignMasks masks = MasksOfSigns<kByte>(signs);
    words[first] = SignedOdd(table.OfHalf<0>(numbers), masks.low);
    words[first + 1] = SignedOdd(table.OfHalf<1>(numbers), masks.high);
  }
  BERTH_CARD static void Eight(uint32_t q0, uint32_t q1, uint32_t ninths, uint32_t signs,
                               const CardTable& table, uint32_t (&words)[8]) {
    Signed<0>(Bytes<0, 4, 1, 4>(q0, 0) | Ninths<0>(ninths), signs, table, words, 0);
    Signed<1>(Bytes<2, 4, 3, 4>(q0, 0) | Ninths<2>(ninths), signs, table, words, 2);
    Signed<2>(Bytes<0, 4, 1, 4>(q1, 0) | Ninths<4>(ninths), signs, table, words, 4);
    Signed<3>(Bytes<2, 4, 3, 4>(q1, 0) | Ninths<6>(ninths), signs, table, words, 6);
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_IQ3_H_
