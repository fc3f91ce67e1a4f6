// IQ1_S and IQ1_M: eight weights of -1, 0, 1 at a time from a codebook, all shifted by an eighth up
// or down.
#include <array>

#include "kernels/formats/block.h"
#include "kernels/formats/codebook_iq1.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

struct BlockIq1_S {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[32];  // per 8 weights: low 8 bits of the index
  uint8_t qh[16];  // per 32 weights 16 bits: 4 x 3 upper bits, 3 bits of scale, the shift's sign
};
static_assert(sizeof(BlockIq1_S) == 50);

struct BlockIq1_M {
  static constexpr uint32_t kElements = 256;
  uint8_t qs[32];
  uint8_t qh[16];     // per 8 weights a nibble: 3 upper bits of the index, the shift's sign
  uint8_t scales[8];  // four 16-bit words: 4 x 3 bits of scale each, and a nibble of the F16 scale
};
static_assert(sizeof(BlockIq1_M) == 56);

constexpr float kShift = 0.125f;

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

// The sum point + shift is exact, so only the product rounds.
inline void Emit(uint32_t index, float shift, float scale, float* to) {
  int8_t q[8];
  std::memcpy(q, &kPoints[index], sizeof(q));
  for (int j = 0; j < 8; ++j) to[j] = scale * (static_cast<float>(q[j]) + shift);
}

void DecodeIq1_S(const BlockIq1_S& block, float* to) {
  const float d = LoadF16(block.d);
  for (int s = 0; s < 8; ++s) {
    const uint32_t qh = LoadU16(block.qh + 2 * s);
    const float scale = d * static_cast<float>(2 * ((qh >> 12) & 7) + 1);
    const float shift = (qh & 0x8000) != 0 ? -kShift : kShift;
    for (int l = 0; l < 4; ++l) {
      const uint32_t index = block.qs[4 * s + l] | ((qh >> (3 * l)) & 7) << 8;
      Emit(index, shift, scale, to + 32 * s + 8 * l);
    }
  }
}

void DecodeIq1_M(const BlockIq1_M& block, float* to) {
  uint32_t words[4];
  uint32_t d_bits = 0;
  for (int w = 0; w < 4; ++w) {
    words[w] = LoadU16(block.scales + 2 * w);
    d_bits |= (words[w] >> 12) << (4 * w);
  }
  const float d = F16ToF32(static_cast<uint16_t>(d_bits));
  for (int group = 0; group < 32; ++group) {  // of 8 weights
    const int sub = group / 2;                // of 16 weights: one scale
    const uint32_t nibble = (block.qh[sub] >> (4 * (group % 2))) & 15u;
    const uint32_t index = block.qs[group] | (nibble & 7) << 8;
    const float scale = d * static_cast<float>(2 * ((words[sub / 4] >> (3 * (sub % 4))) & 7) + 1);
    Emit(index, (nibble & 8) != 0 ? -kShift : kShift, scale, to + 8 * group);
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
    MakeFormat<BlockIq1_S, DecodeIq1_S, SetScale<BlockIq1_S, kRms>>(TensorType::kIQ1_S, "iq1_s");
const Format kFormatIq1_M =
    MakeFormat<BlockIq1_M, DecodeIq1_M, SetIq1_M>(TensorType::kIQ1_M, "iq1_m");

}  // namespace berth::kernels
