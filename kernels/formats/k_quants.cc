// The K formats: super-blocks of 256 weights, sub-blocks of 16 or 32 whose integer scales (and
// minima) multiply one or two F16 scales.
#include "kernels/formats/block.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

// 32 bytes of two-bit fields into the 128 values they hold.
inline void UnpackPairs(const uint8_t* __restrict qs, uint8_t* __restrict q) {
  for (int j = 0; j < 4; ++j) {
    for (int l = 0; l < 32; ++l) q[32 * j + l] = (qs[l] >> (2 * j)) & 3;
  }
}

void UnpackQ2_K(const BlockQ2_K& block, uint32_t, WeightGroup* to) {
  UnpackPairs(block.qs, reinterpret_cast<uint8_t*>(to->q));
  UnpackPairs(block.qs + 32, reinterpret_cast<uint8_t*>(to->q) + 128);
  SetScales(LoadF16(block.d), 0, 8, to);
  for (int s = 0; s < 16; ++s) {
    to->scale[s] = block.scales[s] & 15;
    to->minimum[s] = block.scales[s] >> 4;
  }
  std::fill_n(to->dmin, 8, LoadF16(block.dmin));
}

void UnpackScalesQ3_K(const uint8_t* scales, int16_t* to) {
  for (int s = 0; s < 16; ++s) {
    const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
    const int high = (scales[8 + s % 4] >> (2 * (s / 4))) & 3;
    to[s] = static_cast<int16_t>((low | high << 4) - 32);
  }
}

void UnpackQ3_K(const BlockQ3_K& block, uint32_t, WeightGroup* to) {
  uint8_t low[256];
  UnpackPairs(block.qs, low);
  UnpackPairs(block.qs + 32, low + 128);
  for (int b = 0; b < 8; ++b) {
    for (int l = 0; l < 32; ++l) {
      const int high = (block.hmask[l] >> b) & 1;
      to->q[32 * b + l] = static_cast<int8_t>(low[32 * b + l] + 4 * high - 4);
    }
  }
  SetScales(LoadF16(block.d), 0, 8, to);
  UnpackScalesQ3_K(block.scales, to->scale);
}

// Scales and minima 0-3 are the low six bits of bytes 0-3 and 4-7. Those of 4-7 have their low
// four bits in bytes 8-11 (scale low, minimum high) and their upper two in the top of bytes 0-7.
void UnpackScales(const uint8_t* from, uint8_t* scales, uint8_t* minima) {
  for (int j = 0; j < 4; ++j) {
    scales[j] = from[j] & 63;
    minima[j] = from[j + 4] & 63;
    scales[j + 4] = static_cast<uint8_t>((from[j + 8] & 15) | (from[j] >> 6) << 4);
    minima[j + 4] = static_cast<uint8_t>((from[j + 8] >> 4) | (from[j + 4] >> 6) << 4);
  }
}

// Q4_K and Q5_K.
template <typename Block>
void SetScalesAndMinimaOf(const Block& block, WeightGroup* to) {
  uint8_t scales[8];
  uint8_t minima[8];
  UnpackScales(block.scales, scales, minima);
  SetScales(LoadF16(block.d), 0, 8, to);
  for (int s = 0; s < 16; ++s) {
    to->scale[s] = scales[s / 2];
    to->minimum[s] = minima[s / 2];
  }
  std::fill_n(to->dmin, 8, LoadF16(block.dmin));
}

void UnpackQ4_K(const BlockQ4_K& block, uint32_t, WeightGroup* to) {
  for (int s = 0; s < 8; ++s) {
    const uint8_t* qs = block.qs + 32 * (s / 2);
    const int shift = 4 * (s % 2);
    for (int l = 0; l < 32; ++l) to->q[32 * s + l] = static_cast<int8_t>((qs[l] >> shift) & 15);
  }
  SetScalesAndMinimaOf(block, to);
}

void UnpackQ5_K(const BlockQ5_K& block, uint32_t, WeightGroup* to) {
  for (int s = 0; s < 8; ++s) {
    const uint8_t* qs = block.qs + 32 * (s / 2);
    const int shift = 4 * (s % 2);
    for (int l = 0; l < 32; ++l) {
      const int high = (block.qh[l] >> s) & 1;
      to->q[32 * s + l] = static_cast<int8_t>(((qs[l] >> shift) & 15) | high << 4);
    }
  }
  SetScalesAndMinimaOf(block, to);
}

void UnpackQ6_K(const BlockQ6_K& block, uint32_t, WeightGroup* to) {
  for (int half = 0; half < 2; ++half) {
    const uint8_t* ql = block.ql + 64 * half;
    uint8_t high[128];
    UnpackPairs(block.qh + 32 * half, high);
    uint8_t low[128];
    for (int l = 0; l < 64; ++l) low[l] = ql[l] & 15;
    for (int l = 0; l < 64; ++l) low[l + 64] = ql[l] >> 4;
    int8_t* const q = to->q + 128 * half;
    for (int l = 0; l < 128; ++l) q[l] = static_cast<int8_t>(low[l] + 16 * high[l] - 32);
  }
  SetScales(LoadF16(block.d), 0, 8, to);
  for (int s = 0; s < 16; ++s) to->scale[s] = block.scales[s];
}

// Generated minima equal the scales, and dmin is d times the middle level, so that every sub-block
// is centred on zero.
void SetQ2_K(BlockQ2_K& block, uint64_t noise) {
  for (uint8_t& scale : block.scales) scale = static_cast<uint8_t>((scale & 15) * 0x11);
  const float d = GeneratedScale(984, noise);
  StoreU16(F32ToF16(d), block.d);
  StoreU16(F32ToF16(1.5f * d), block.dmin);
}

template <typename Block, int kRmsHundredths, int kTop>
void SetScalesAndMinima(Block& block, uint64_t noise) {
  for (int j = 0; j < 4; ++j) {
    block.scales[j + 4] = block.scales[j];
    block.scales[j + 8] = static_cast<uint8_t>((block.scales[j + 8] & 15) * 0x11);
  }
  const float d = GeneratedScale(kRmsHundredths, noise);
  StoreU16(F32ToF16(d), block.d);
  StoreU16(F32ToF16(0.5f * kTop * d), block.dmin);
}

}  // namespace

const Format kFormatQ2_K = MakeFormat<BlockQ2_K, UnpackQ2_K, SetQ2_K,
                                      GroupKind{.scales = true, .halves = true, .minima = true}>(
    TensorType::kQ2_K, "q2_K");
const Format kFormatQ3_K =
    MakeFormat<BlockQ3_K, UnpackQ3_K, SetScale<BlockQ3_K, 4200>,
               GroupKind{.scales = true, .halves = true}>(TensorType::kQ3_K, "q3_K");
const Format kFormatQ4_K =
    MakeFormat<BlockQ4_K, UnpackQ4_K, SetScalesAndMinima<BlockQ4_K, 16700, 15>,
               GroupKind{.scales = true, .minima = true}>(TensorType::kQ4_K, "q4_K");
const Format kFormatQ5_K =
    MakeFormat<BlockQ5_K, UnpackQ5_K, SetScalesAndMinima<BlockQ5_K, 33500, 31>,
               GroupKind{.scales = true, .minima = true}>(TensorType::kQ5_K, "q5_K");
const Format kFormatQ6_K =
    MakeFormat<BlockQ6_K, UnpackQ6_K, SetScale<BlockQ6_K, 136600>,
               GroupKind{.scales = true, .halves = true}>(TensorType::kQ6_K, "q6_K");

}  // namespace berth::kernels
