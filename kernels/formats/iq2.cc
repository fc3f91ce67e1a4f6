// IQ2_XXS, IQ2_XS, IQ2_S: eight weights at a time from a codebook of magnitudes, signs beside it,
// a 4-bit scale per 32 or 16 weights.
#include "kernels/formats/codebook_iq2.h"
#include "kernels/formats/format_list.h"
#include "kernels/formats/lattice.h"

namespace berth::kernels {
namespace {

struct BlockIq2_Xxs {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[64];  // per 32 weights: four indices, then 4 x 7 bits of signs and a 4-bit scale
};
static_assert(sizeof(BlockIq2_Xxs) == 66);

struct BlockIq2_Xs {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[64];     // per 8 weights 16 bits: a 9-bit index and 7 bits of signs
  uint8_t scales[8];  // per 32 weights: low nibble for the first 16
};
static_assert(sizeof(BlockIq2_Xs) == 74);

struct BlockIq2_S {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[32];     // per 8 weights: low 8 bits of the index
  uint8_t signs[32];  // per 8 weights
  uint8_t qh[8];      // per 32 weights: four times the upper 2 bits
  uint8_t scales[8];
};
static_assert(sizeof(BlockIq2_S) == 82);

constexpr uint8_t kLevels[4] = {8, 25, 43, 0};
constexpr auto kPointsXxs = ExpandCodebook<uint64_t, 2>(kCodebookIq2Xxs, kLevels);
constexpr auto kPointsXs = ExpandCodebook<uint64_t, 2>(kCodebookIq2Xs, kLevels);
constexpr auto kPointsS = ExpandCodebook<uint64_t, 2>(kCodebookIq2S, kLevels);

inline float SubScale(float d, uint32_t scale) {
  return d * (0.5f + static_cast<float>(scale)) * 0.25f;
}

void DecodeIq2_Xxs(const BlockIq2_Xxs& block, float* to) {
  const float d = LoadF16(block.d);
  for (int s = 0; s < 8; ++s) {
    const uint8_t* indices = block.qs + 8 * s;
    const uint32_t word = LoadU32(indices + 4);
    int8_t q[32];
    for (int l = 0; l < 4; ++l) {
      StoreSigned(kPointsXxs[indices[l]], EvenSigns((word >> (7 * l)) & 127), q + 8 * l);
    }
    Scale<32>(q, SubScale(d, word >> 28), to + 32 * s);
  }
}

void DecodeIq2_Xs(const BlockIq2_Xs& block, float* to) {
  const float d = LoadF16(block.d);
  for (int s = 0; s < 8; ++s) {
    int8_t q[32];
    for (int l = 0; l < 4; ++l) {
      const uint32_t word = LoadU16(block.qs + 8 * s + 2 * l);
      StoreSigned(kPointsXs[word & 511], EvenSigns(word >> 9), q + 8 * l);
    }
    Scale<16>(q, SubScale(d, block.scales[s] & 15u), to + 32 * s);
    Scale<16>(q + 16, SubScale(d, block.scales[s] >> 4), to + 32 * s + 16);
  }
}

void DecodeIq2_S(const BlockIq2_S& block, float* to) {
  const float d = LoadF16(block.d);
  for (int s = 0; s < 8; ++s) {
    int8_t q[32];
    for (int l = 0; l < 4; ++l) {
      const uint32_t high = (block.qh[s] >> (2 * l)) & 3u;
      StoreSigned(kPointsS[block.qs[4 * s + l] | high << 8], block.signs[4 * s + l], q + 8 * l);
    }
    Scale<16>(q, SubScale(d, block.scales[s] & 15u), to + 32 * s);
    Scale<16>(q + 16, SubScale(d, block.scales[s] >> 4), to + 32 * s + 16);
  }
}

constexpr int kRms = 4800;  // of magnitude x (0.5 + scale) / 4

}  // namespace

const Format kFormatIq2_Xxs = MakeFormat<BlockIq2_Xxs, DecodeIq2_Xxs, SetScale<BlockIq2_Xxs, kRms>>(
    TensorType::kIQ2_XXS, "iq2_xxs");
const Format kFormatIq2_Xs = MakeFormat<BlockIq2_Xs, DecodeIq2_Xs, SetScale<BlockIq2_Xs, kRms>>(
    TensorType::kIQ2_XS, "iq2_xs");
const Format kFormatIq2_S =
    MakeFormat<BlockIq2_S, DecodeIq2_S, SetScale<BlockIq2_S, kRms>>(TensorType::kIQ2_S, "iq2_s");

}  // namespace berth::kernels
