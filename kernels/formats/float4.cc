// MXFP4 and NVFP4: 4-bit floats (E2M1) under an 8-bit float scale. The levels are stored doubled,
// so the scales are halved.
#include "kernels/formats/block.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/format_list.h"
#include "kernels/formats/table16.h"

namespace berth::kernels {
namespace {

// Twice the E2M1 values (OCP Microscaling Formats v1.0).
constexpr int8_t kLevels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e - 128). No NaN: e = 255 is 2^127, as GGUF's readers have it.
inline float HalfE8m0(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1u) << 23;
  return std::bit_cast<float>(bits);
}

// Half of an unsigned E4M3: bias 7, denormals in units of 2^-9; 0x7f (NaN) reads as zero, and the
// top bit is ignored (an exponent of four bits is taken from bits 3-6).
inline float HalfUe4m3(uint8_t code) {
  if (code == 0x7f) return 0.0f;
  const uint32_t exponent = (code >> 3) & 15u;
  const uint32_t mantissa = code & 7u;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
  return std::bit_cast<float>((exponent - 7 + 127 - 1) << 23 | mantissa << 20);
}

void UnpackMxfp4(const BlockMxfp4& block, uint32_t first, WeightGroup* to) {
  UnpackNibbles<16>(block.qs, kLevels, to->q + 32 * first);
  SetScales(HalfE8m0(block.e), first, 1, to);
}

void UnpackNvfp4(const BlockNvfp4& block, uint32_t first, WeightGroup* to) {
  for (int s = 0; s < 4; ++s) {
    UnpackNibbles<8>(block.qs + 8 * s, kLevels, to->q + 32 * first + 16 * s);
    to->d[2 * first + s] = HalfUe4m3(block.d[s]);
    to->scale[2 * first + s] = 1;
  }
}

// The levels have a root mean square of 5.85: scales of 2^-8 and 2^-7.
void SetMxfp4(BlockMxfp4& block, uint64_t noise) {
  block.e = static_cast<uint8_t>(120 + (noise & 1));
}
// Codes 4 to 11: 0.0078 to 0.0215, some of them denormal.
void SetNvfp4(BlockNvfp4& block, uint64_t noise) {
  for (int s = 0; s < 4; ++s) {
    block.d[s] = static_cast<uint8_t>(4 + ((noise >> (8 * s)) & 7));
  }
}

}  // namespace

const Format kFormatMxfp4 =
    MakeFormat<BlockMxfp4, UnpackMxfp4, SetMxfp4>(TensorType::kMXFP4, "mxfp4");
const Format kFormatNvfp4 =
    MakeFormat<BlockNvfp4, UnpackNvfp4, SetNvfp4, GroupKind{.two_scales = true}>(TensorType::kNVFP4,
                                                                                 "nvfp4");

}  // namespace berth::kernels
