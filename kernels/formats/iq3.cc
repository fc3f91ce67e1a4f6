// IQ3_XXS and IQ3_S: four weights at a time from a codebook of magnitudes, signs beside it, a
// 4-bit scale per 32 weights.
#include "kernels/formats/blocks.h"
#include "kernels/formats/codebook_iq3.h"
#include "kernels/formats/format_list.h"
#include "kernels/formats/lattice.h"

namespace berth::kernels {
namespace {

constexpr uint8_t kLevelsXxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr uint8_t kLevelsS[8] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr auto kPointsXxs = ExpandCodebook<uint32_t, 3>(kCodebookIq3Xxs, kLevelsXxs);
constexpr auto kPointsS = ExpandCodebook<uint32_t, 3>(kCodebookIq3S, kLevelsS);

inline uint64_t Join(uint32_t first, uint32_t second) {
  return first | static_cast<uint64_t>(second) << 32;
}

void UnpackIq3_Xxs(const BlockIq3_Xxs& block, uint32_t, WeightGroup* to) {
  SetScales(LoadF16(block.d) * 0.25f, 0, 8, to);
  for (int s = 0; s < 8; ++s) {
    const uint8_t* qs = block.qs + 8 * s;
    const uint32_t word = LoadU32(block.scales_and_signs + 4 * s);
    // d (0.5 + scale) / 2, in quarters of d.
    to->scale[2 * s] = to->scale[2 * s + 1] = static_cast<int16_t>(2 * (word >> 28) + 1);
    for (int l = 0; l < 4; ++l) {
      StoreSigned(Join(kPointsXxs[qs[2 * l]], kPointsXxs[qs[2 * l + 1]]),
                  kEvenSigns[(word >> (7 * l)) & 127], to->q + 32 * s + 8 * l);
    }
  }
}

void UnpackIq3_S(const BlockIq3_S& block, uint32_t, WeightGroup* to) {
  for (int group = 0; group < 32; ++group) {
    const uint32_t qh = static_cast<uint32_t>(block.qh[group / 4]) >> (2 * (group % 4));
    const uint32_t first = block.qs[2 * group] | (qh & 1) << 8;
    const uint32_t second = block.qs[2 * group + 1] | (qh & 2) << 7;
    StoreSigned(Join(kPointsS[first], kPointsS[second]), block.signs[group], to->q + 8 * group);
  }
  SetScales(LoadF16(block.d), 0, 8, to);
  for (int s = 0; s < 8; ++s) {
    const int scale = 1 + 2 * ((block.scales[s / 2] >> (4 * (s % 2))) & 15);
    to->scale[2 * s] = to->scale[2 * s + 1] = static_cast<int16_t>(scale);
  }
}

}  // namespace

const Format kFormatIq3_Xxs =
    MakeFormat<BlockIq3_Xxs, UnpackIq3_Xxs, SetScale<BlockIq3_Xxs, 13800>,
               GroupKind{.scales = true}>(TensorType::kIQ3_XXS, "iq3_xxs");
const Format kFormatIq3_S =
    MakeFormat<BlockIq3_S, UnpackIq3_S, SetScale<BlockIq3_S, 14700>, GroupKind{.scales = true}>(
        TensorType::kIQ3_S, "iq3_s");

}  // namespace berth::kernels
