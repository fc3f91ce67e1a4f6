// Decoders of IQ4_NL and IQ4_XS (kernels/formats/iq4.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_IQ4_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_IQ4_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

struct CardIq4_Nl : CardDecoder<CardIq4_Nl>, LevelsIq4 {
  static constexpr uint32_t kElements = 32;
  static constexpr uint32_t kBytes = 18;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t, const CardTable& table,
                               uint32_t (&words)[8]) {
    LevelWords<LevelsIq4, kHow, 2>(at, 0, table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    LevelPair<LevelsIq4, kHow, 2>(at, 0, t, table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    scales->d[0] = FloatOfF16(LoadHalf<kHow>(at));
  }
};

struct CardIq4_Xs : CardDecoder<CardIq4_Xs>, LevelsIq4 {
  static constexpr uint32_t kElements = 256;
  static constexpr uint32_t kBytes = 136;
  static constexpr GroupKind kKind = {.scales = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    LevelWords<LevelsIq4, kHow, 8>(at, 16 * sub, table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    LevelPair<LevelsIq4, kHow, 8>(at, 16 * sub, t, table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    const uint32_t front = LoadWord<kHow, 0>(at, 0);
    const uint32_t low = static_cast<uint32_t>(at[4 + sub / 2]) >> (4 * (sub & 1));
    Set(front, low, front >> (16 + 2 * sub), scales);
  }
  template <Reading kHow>
  BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
    const uint32_t front = LoadWord<kHow, 0>(at, 0);
    const uint32_t low = at[4 + sub / 2];
    const uint32_t high = front >> (16 + 2 * sub);
    Set(front, low, high, &scales[0]);
    Set(front, low >> 4, high >> 2, &scales[1]);
  }

 private:
  // `front`: d in its lower half. Of a scale, four bits are in `low` and two in `high`.
  BERTH_CARD static void Set(uint32_t front, uint32_t low, uint32_t high, BlockScales* scales) {
    scales->d[0] = FloatOfF16(front & 0xffff);
    scales->scale[0] = static_cast<int32_t>((low & 15) | ((high & 3) << 4)) - 32;
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_IQ4_H_
