// IQ3_XXS and IQ3_S: four weights at a time from a codebook of magnitudes, signs beside it, a
// 4-bit scale per 32 weights.
#include "kernels/formats/codebook_iq3.h"
#include "kernels/formats/format_list.h"
#include "kernels/formats/lattice.h"

namespace berth::kernels {
namespace {

struct BlockIq3_Xxs {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[64];                // per 4 weights: the index
  uint8_t scales_and_signs[32];  // per 32 weights: 4 x 7 bits of signs and a 4-bit scale
};
static_assert(sizeof(BlockIq3_Xxs) == 98);

struct BlockIq3_S {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[64];     // per 4 weights: low 8 bits of the index
  uint8_t qh[8];      // per 32 weights: the eight ninth bits
  uint8_t signs[32];  // per 8 weights
  uint8_t scales[4];  // per 64 weights: low nibble for the first 32
};
static_assert(sizeof(BlockIq3_S) == 110);

constexpr uint8_t kLevelsXxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr uint8_t kLevelsS[8] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr auto kPointsXxs = ExpandCodebook<uint32_t, 3>(kCodebookIq3Xxs, kLevelsXxs);
constexpr auto kPointsS = ExpandCodebook<uint32_t, 3>(kCodebookIq3S, kLevelsS);

inline uint64_t Join(uint32_t first, uint32_t second) {
  return first | static_cast<uint64_t>(second) << 32;
}

void DecodeIq3_Xxs(const BlockIq3_Xxs& block, float* to) {
  const float d = LoadF16(block.d);
  for (int s = 0; s < 8; ++s) {
    const uint8_t* qs = block.qs + 8 * s;
    const uint32_t word = LoadU32(block.scales_and_signs + 4 * s);
    int8_t q[32];
    for (int l = 0; l < 4; ++l) {
      StoreSigned(Join(kPointsXxs[qs[2 * l]], kPointsXxs[qs[2 * l + 1]]),
                  EvenSigns((word >> (7 * l)) & 127), q + 8 * l);
    }
    Scale<32>(q, d * (0.5f + static_cast<float>(word >> 28)) * 0.5f, to + 32 * s);
  }
}

void DecodeIq3_S(const BlockIq3_S& block, float* to) {
  const float d = LoadF16(block.d);
  for (int s = 0; s < 8; ++s) {
    const uint8_t* qs = block.qs + 8 * s;
    const uint32_t qh = block.qh[s];
    int8_t q[32];
    for (int l = 0; l < 4; ++l) {
      const uint32_t first = qs[2 * l] | ((qh >> (2 * l)) & 1) << 8;
      const uint32_t second = qs[2 * l + 1] | ((qh >> (2 * l + 1)) & 1) << 8;
      StoreSigned(Join(kPointsS[first], kPointsS[second]), block.signs[4 * s + l], q + 8 * l);
    }
    const int scale = 1 + 2 * ((block.scales[s / 2] >> (4 * (s % 2))) & 15);
    Scale<32>(q, d * static_cast<float>(scale), to + 32 * s);
  }
}

}  // namespace

const Format kFormatIq3_Xxs =
    MakeFormat<BlockIq3_Xxs, DecodeIq3_Xxs, SetScale<BlockIq3_Xxs, 13800>>(TensorType::kIQ3_XXS,
                                                                           "iq3_xxs");
const Format kFormatIq3_S =
    MakeFormat<BlockIq3_S, DecodeIq3_S, SetScale<BlockIq3_S, 14700>>(TensorType::kIQ3_S, "iq3_s");

}  // namespace berth::kernels
