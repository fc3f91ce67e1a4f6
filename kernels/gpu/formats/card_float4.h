// Decoders of MXFP4 and NVFP4 (kernels/formats/float4.cc).
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_FLOAT4_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_FLOAT4_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/formats/card_numbers.h"

namespace berth::kernels::gpu {

struct CardMxfp4 : CardDecoder<CardMxfp4>, LevelsFloat4 {
  static constexpr uint32_t kElements = 32;
  static constexpr uint32_t kBytes = 17;
  static constexpr GroupKind kKind = {};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t, const CardTable& table,
                               uint32_t (&words)[8]) {
    LevelWords<LevelsFloat4, kHow, 1>(at, 0, table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    LevelPair<LevelsFloat4, kHow, 1>(at, 0, t, table, words);
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t, BlockScales* scales) {
    scales->d[0] = HalfOfE8m0(*at);
  }
};

struct CardNvfp4 : CardDecoder<CardNvfp4>, LevelsFloat4 {
  static constexpr uint32_t kElements = 64;
  static constexpr uint32_t kBytes = 36;
  static constexpr GroupKind kKind = {.two_scales = true};

  template <Reading kHow>
  BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
                               uint32_t (&words)[8]) {
    uint32_t q[4];
    LoadWords<kHow, 4>(at, 16 * sub, q);
    BERTH_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Nibbles levels = LevelsFloat4::Of(q[i], table);
      words[4 * (i / 2) + i % 2] = levels.low;
      words[4 * (i / 2) + i % 2 + 2] = levels.high;
    }
  }
  template <Reading kHow>
  BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t, const CardTable& table,
                              uint32_t (&words)[2]) {
    const uint32_t further = 16 * sub + 4 * (t & 1);
    const Nibbles levels =
        LevelsFloat4::Of(JoinNibbles(LoadWord<kHow, 4>(at, further),
                                     LoadWord<kHow, 4>(at, further + 8), 2 * (t & 2)),
                         table);
    words[0] = levels.low;
    words[1] = levels.high;
  }
  template <Reading kHow>
  BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales) {
    const uint32_t codes = LoadHalf<kHow>(at + 2 * sub);
    scales->d[0] = HalfOfUe4m3(codes & 0xff);
    scales->d[1] = HalfOfUe4m3(codes >> 8);
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_FLOAT4_H_
