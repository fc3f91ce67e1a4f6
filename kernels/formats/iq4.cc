// IQ4_NL and IQ4_XS: nibbles that index sixteen unevenly spaced levels.
#include "kernels/formats/block.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/format_list.h"
#include "kernels/formats/table16.h"

namespace berth::kernels {
namespace {

// Facts of the format: github.com/ggml-org/ggml, src/ggml-common.h (kvalues_iq4nl).
constexpr int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};

void UnpackIq4_Nl(const BlockIq4_Nl& block, uint32_t first, WeightGroup* to) {
  UnpackNibbles<16>(block.qs, kLevels, to->q + 32 * first);
  SetScales(LoadF16(block.d), first, 1, to);
}

void UnpackIq4_Xs(const BlockIq4_Xs& block, uint32_t, WeightGroup* to) {
  SetScales(LoadF16(block.d), 0, 8, to);
  const uint32_t high = LoadU16(block.scales_h);
  for (int s = 0; s < 8; ++s) {
    const uint32_t low = (block.scales_l[s / 2] >> (4 * (s % 2))) & 15u;
    const int scale = static_cast<int>(low | ((high >> (2 * s)) & 3) << 4) - 32;
    to->scale[2 * s] = to->scale[2 * s + 1] = static_cast<int16_t>(scale);
    UnpackNibbles<16>(block.qs + 16 * s, kLevels, to->q + 32 * s);
  }
}

}  // namespace

const Format kFormatIq4_Nl = MakeFormat<BlockIq4_Nl, UnpackIq4_Nl, SetScale<BlockIq4_Nl, 7100>>(
    TensorType::kIQ4_NL, "iq4_nl");
const Format kFormatIq4_Xs =
    MakeFormat<BlockIq4_Xs, UnpackIq4_Xs, SetScale<BlockIq4_Xs, 131000>, GroupKind{.scales = true}>(
        TensorType::kIQ4_XS, "iq4_xs");

}  // namespace berth::kernels
