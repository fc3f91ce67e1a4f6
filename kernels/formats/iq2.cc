// IQ2_XXS, IQ2_XS, IQ2_S: eight weights at a time from a codebook of magnitudes, signs beside it,
// a 4-bit scale per 32 or 16 weights.
#include "kernels/formats/blocks.h"
#include "kernels/formats/codebook_iq2.h"
#include "kernels/formats/format_list.h"
#include "kernels/formats/lattice.h"

namespace berth::kernels {
namespace {

constexpr uint8_t kLevels[4] = {8, 25, 43, 0};
constexpr auto kPointsXxs = ExpandCodebook<uint64_t, 2>(kCodebookIq2Xxs, kLevels);
constexpr auto kPointsXs = ExpandCodebook<uint64_t, 2>(kCodebookIq2Xs, kLevels);
constexpr auto kPointsS = ExpandCodebook<uint64_t, 2>(kCodebookIq2S, kLevels);

// d (0.5 + scale) / 4, in eighths of d.
inline int16_t SubScale(uint32_t scale) { return static_cast<int16_t>(2 * scale + 1); }

void UnpackIq2_Xxs(const BlockIq2_Xxs& block, uint32_t, WeightGroup* to) {
  SetScales(LoadF16(block.d) * 0.125f, 0, 8, to);
  for (int s = 0; s < 8; ++s) {
    const uint8_t* indices = block.qs + 8 * s;
    const uint32_t word = LoadU32(indices + 4);
    to->scale[2 * s] = to->scale[2 * s + 1] = SubScale(word >> 28);
    for (int l = 0; l < 4; ++l) {
      StoreSigned(kPointsXxs[indices[l]], kEvenSigns[(word >> (7 * l)) & 127],
                  to->q + 32 * s + 8 * l);
    }
  }
}

// IQ2_XS and IQ2_S.
void SetNibbleScales(float d, const uint8_t* scales, WeightGroup* to) {
  SetScales(d * 0.125f, 0, 8, to);
  for (int s = 0; s < 8; ++s) {
    to->scale[2 * s] = SubScale(scales[s] & 15u);
    to->scale[2 * s + 1] = SubScale(scales[s] >> 4);
  }
}

void UnpackIq2_Xs(const BlockIq2_Xs& block, uint32_t, WeightGroup* to) {
  for (int group = 0; group < 32; ++group) {
    const uint32_t word = LoadU16(block.qs + 2 * group);
    StoreSigned(kPointsXs[word & 511], kEvenSigns[word >> 9], to->q + 8 * group);
  }
  SetNibbleScales(LoadF16(block.d), block.scales, to);
}

void UnpackIq2_S(const BlockIq2_S& block, uint32_t, WeightGroup* to) {
  for (int group = 0; group < 32; ++group) {
    const uint32_t high = (block.qh[group / 4] >> (2 * (group % 4))) & 3u;
    StoreSigned(kPointsS[block.qs[group] | high << 8], block.signs[group], to->q + 8 * group);
  }
  SetNibbleScales(LoadF16(block.d), block.scales, to);
}

constexpr int kRms = 4800;  // of magnitude x (0.5 + scale) / 4

}  // namespace

const Format kFormatIq2_Xxs =
    MakeFormat<BlockIq2_Xxs, UnpackIq2_Xxs, SetScale<BlockIq2_Xxs, kRms>,
               GroupKind{.scales = true}>(TensorType::kIQ2_XXS, "iq2_xxs");
const Format kFormatIq2_Xs =
    MakeFormat<BlockIq2_Xs, UnpackIq2_Xs, SetScale<BlockIq2_Xs, kRms>,
               GroupKind{.scales = true, .halves = true}>(TensorType::kIQ2_XS, "iq2_xs");
const Format kFormatIq2_S =
    MakeFormat<BlockIq2_S, UnpackIq2_S, SetScale<BlockIq2_S, kRms>,
               GroupKind{.scales = true, .halves = true}>(TensorType::kIQ2_S, "iq2_s");

}  // namespace berth::kernels
