// IQ4_NL and IQ4_XS: nibbles that index sixteen unevenly spaced levels.
#include "kernels/formats/block.h"
#include "kernels/formats/format_list.h"
#include "kernels/formats/table16.h"

namespace berth::kernels {
namespace {

struct BlockIq4_Nl {
  static constexpr uint32_t kElements = 32;
  uint8_t d[2];
  uint8_t qs[16];
};
static_assert(sizeof(BlockIq4_Nl) == 18);

struct BlockIq4_Xs {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t scales_h[2];  // per 32 weights: the upper 2 bits of the scale
  uint8_t scales_l[4];  // per 32 weights: the lower 4 bits of the scale + 32
  uint8_t qs[128];
};
static_assert(sizeof(BlockIq4_Xs) == 136);

// Facts of the format: github.com/ggml-org/ggml, src/ggml-common.h (kvalues_iq4nl).
constexpr int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};

void DecodeIq4_Nl(const BlockIq4_Nl& block, float* to) {
  DecodeNibbles<16>(block.qs, kLevels, LoadF16(block.d), to);
}

void DecodeIq4_Xs(const BlockIq4_Xs& block, float* to) {
  const float d = LoadF16(block.d);
  const uint32_t high = LoadU16(block.scales_h);
  for (int s = 0; s < 8; ++s) {
    const uint32_t low = (block.scales_l[s / 2] >> (4 * (s % 2))) & 15u;
    const int scale = static_cast<int>(low | ((high >> (2 * s)) & 3) << 4) - 32;
    DecodeNibbles<16>(block.qs + 16 * s, kLevels, d * static_cast<float>(scale), to + 32 * s);
  }
}

}  // namespace

const Format kFormatIq4_Nl = MakeFormat<BlockIq4_Nl, DecodeIq4_Nl, SetScale<BlockIq4_Nl, 7100>>(
    TensorType::kIQ4_NL, "iq4_nl");
const Format kFormatIq4_Xs = MakeFormat<BlockIq4_Xs, DecodeIq4_Xs, SetScale<BlockIq4_Xs, 131000>>(
    TensorType::kIQ4_XS, "iq4_xs");

}  // namespace berth::kernels
