// IQ1_S and IQ1_M: eight weights of -1, 0, 1 at a time from a codebook, all shifted by an eighth up
// or down.
#include <array>

#include "kernels/formats/block.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/codebook_iq1.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

// The codebook as signed bytes, eight to a word.
constexpr std::array<uint64_t, 2048> MakePoints() {
  std::array<uint64_t, 2048> points{};
  for (size_t i = 0; i < points.size(); ++i) {
    for (int j = 0; j < 8; ++j) {
      const int value = ((kCodebookIq1[i] >> (2 * j)) & 3) - 1;
      points[i] |= static_cast<uint64_t>(static_cast<uint8_t>(value)) << (8 * j);
    }
  }
  return points;
}
constexpr std::array<uint64_t, 2048> kPoints = MakePoints();

// Eight weights in eighths: point plus or minus one. The scale is d / 8 for that, exactly.
inline void Emit(uint32_t index, bool down, int8_t* to) {
  int8_t points[8];
  std::memcpy(points, &kPoints[index], sizeof(points));
  for (int j = 0; j < 8; ++j) to[j] = static_cast<int8_t>(8 * points[j] + (down ? -1 : 1));
}

void UnpackIq1_S(const BlockIq1_S& block, uint32_t, WeightGroup* to) {
  SetScales(LoadF16(block.d) * 0.125f, 0, 8, to);
  for (int s = 0; s < 8; ++s) {
    const uint32_t qh = LoadU16(block.qh + 2 * s);
    to->scale[2 * s] = to->scale[2 * s + 1] = static_cast<int16_t>(2 * ((qh >> 12) & 7) + 1);
    for (int l = 0; l < 4; ++l) {
      const uint32_t index = block.qs[4 * s + l] | ((qh >> (3 * l)) & 7) << 8;
      Emit(index, (qh & 0x8000) != 0, to->q + 32 * s + 8 * l);
    }
  }
}

void UnpackIq1_M(const BlockIq1_M& block, uint32_t, WeightGroup* to) {
  uint32_t words[4];
  uint32_t d_bits = 0;
  for (int w = 0; w < 4; ++w) {
    words[w] = LoadU16(block.scales + 2 * w);
    d_bits |= (words[w] >> 12) << (4 * w);
  }
  SetScales(F16ToF32(static_cast<uint16_t>(d_bits)) * 0.125f, 0, 8, to);
  for (int sub = 0; sub < 16; ++sub) {  // 16 weights: one scale, two points
    const uint32_t code = (words[sub / 4] >> (3 * (sub % 4))) & 7;
    to->scale[sub] = static_cast<int16_t>(2 * code + 1);
    for (int l = 0; l < 2; ++l) {
      const uint32_t nibble = block.qh[sub] >> (4 * l);
      const uint32_t index = block.qs[2 * sub + l] | (nibble & 7) << 8;
      Emit(index, (nibble & 8) != 0, to->q + 16 * sub + 8 * l);
    }
  }
}

constexpr int kRms = 740;  // of (point + shift) x (2 scale + 1)

void SetIq1_M(BlockIq1_M& block, uint64_t noise) {
  const uint32_t d = F32ToF16(GeneratedScale(kRms, noise));
  for (int w = 0; w < 4; ++w) {
    const uint32_t word = LoadU16(block.scales + 2 * w);
    StoreU16(static_cast<uint16_t>((word & 0xfff) | ((d >> (4 * w)) & 15) << 12),
             block.scales + 2 * w);
  }
}

}  // namespace

const Format kFormatIq1_S =
    MakeFormat<BlockIq1_S, UnpackIq1_S, SetScale<BlockIq1_S, kRms>, GroupKind{.scales = true}>(
        TensorType::kIQ1_S, "iq1_s");
const Format kFormatIq1_M =
    MakeFormat<BlockIq1_M, UnpackIq1_M, SetIq1_M, GroupKind{.scales = true, .halves = true}>(
        TensorType::kIQ1_M, "iq1_m");

}  // namespace berth::kernels
