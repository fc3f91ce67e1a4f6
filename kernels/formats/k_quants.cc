// The K formats: super-blocks of 256 weights, sub-blocks of 16 or 32 whose integer scales (and
// minima) multiply one or two F16 scales.
#include "kernels/formats/block.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

struct BlockQ2_K {
  static constexpr uint32_t kElements = 256;
  uint8_t scales[16];  // per 16 weights: scale in the low nibble, minimum in the high one
  uint8_t qs[64];      // per 128 weights 32 bytes; byte l: weights l, l + 32, l + 64, l + 96
  uint8_t d[2];
  uint8_t dmin[2];
};
static_assert(sizeof(BlockQ2_K) == 84);

struct BlockQ3_K {
  static constexpr uint32_t kElements = 256;
  uint8_t hmask[32];   // bit b of byte l: third bit of weight 32 b + l; clear means minus 4
  uint8_t qs[64];      // as in Q2_K
  uint8_t scales[12];  // sixteen 6-bit scales + 32: low nibbles in 8 bytes, high pairs in 4
  uint8_t d[2];
};
static_assert(sizeof(BlockQ3_K) == 110);

struct BlockQ4_K {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t dmin[2];
  uint8_t scales[12];  // eight 6-bit scales and minima, see UnpackScales
  uint8_t qs[128];     // per 64 weights 32 bytes: low nibbles, then high nibbles
};
static_assert(sizeof(BlockQ4_K) == 144);

struct BlockQ5_K {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t dmin[2];
  uint8_t scales[12];
  uint8_t qh[32];  // bit b of byte l: fifth bit of weight 32 b + l
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

struct BlockQ6_K {
  static constexpr uint32_t kElements = 256;
  uint8_t ql[128];    // per 128 weights 64 bytes: low nibbles of 0-63, high nibbles of 64-127
  uint8_t qh[64];     // per 128 weights 32 bytes: upper two bits, packed as in Q2_K
  int8_t scales[16];  // per 16 weights
  uint8_t d[2];
};
static_assert(sizeof(BlockQ6_K) == 210);

// 32 bytes of two-bit fields into the 128 values they hold.
inline void UnpackPairs(const uint8_t* __restrict qs, uint8_t* __restrict q) {
  for (int j = 0; j < 4; ++j) {
    for (int l = 0; l < 32; ++l) q[32 * j + l] = (qs[l] >> (2 * j)) & 3;
  }
}

void DecodeQ2_K(const BlockQ2_K& block, float* to) {
  const float d = LoadF16(block.d);
  const float dmin = LoadF16(block.dmin);
  int8_t q[256];
  UnpackPairs(block.qs, reinterpret_cast<uint8_t*>(q));
  UnpackPairs(block.qs + 32, reinterpret_cast<uint8_t*>(q) + 128);
  for (int s = 0; s < 16; ++s) {
    const float scale = d * static_cast<float>(block.scales[s] & 15);
    const float minimum = dmin * static_cast<float>(block.scales[s] >> 4);
    ScaleAndAdd<16>(q + 16 * s, scale, -minimum, to + 16 * s);
  }
}

void UnpackScalesQ3_K(const uint8_t* scales, int8_t* to) {
  for (int s = 0; s < 16; ++s) {
    const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
    const int high = (scales[8 + s % 4] >> (2 * (s / 4))) & 3;
    to[s] = static_cast<int8_t>((low | high << 4) - 32);
  }
}

void DecodeQ3_K(const BlockQ3_K& block, float* to) {
  const float d = LoadF16(block.d);
  int8_t scales[16];
  UnpackScalesQ3_K(block.scales, scales);
  uint8_t low[256];
  UnpackPairs(block.qs, low);
  UnpackPairs(block.qs + 32, low + 128);
  int8_t q[256];
  for (int b = 0; b < 8; ++b) {
    for (int l = 0; l < 32; ++l) {
      const int high = (block.hmask[l] >> b) & 1;
      q[32 * b + l] = static_cast<int8_t>(low[32 * b + l] + 4 * high - 4);
    }
  }
  for (int s = 0; s < 16; ++s) {
    Scale<16>(q + 16 * s, d * static_cast<float>(scales[s]), to + 16 * s);
  }
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

void DecodeQ4_K(const BlockQ4_K& block, float* to) {
  const float d = LoadF16(block.d);
  const float dmin = LoadF16(block.dmin);
  uint8_t scales[8];
  uint8_t minima[8];
  UnpackScales(block.scales, scales, minima);
  for (int s = 0; s < 8; ++s) {
    int8_t q[32];
    const uint8_t* qs = block.qs + 32 * (s / 2);
    const int shift = 4 * (s % 2);
    for (int l = 0; l < 32; ++l) q[l] = static_cast<int8_t>((qs[l] >> shift) & 15);
    ScaleAndAdd<32>(q, d * static_cast<float>(scales[s]), -(dmin * static_cast<float>(minima[s])),
                    to + 32 * s);
  }
}

void DecodeQ5_K(const BlockQ5_K& block, float* to) {
  const float d = LoadF16(block.d);
  const float dmin = LoadF16(block.dmin);
  uint8_t scales[8];
  uint8_t minima[8];
  UnpackScales(block.scales, scales, minima);
  for (int s = 0; s < 8; ++s) {
    int8_t q[32];
    const uint8_t* qs = block.qs + 32 * (s / 2);
    const int shift = 4 * (s % 2);
    for (int l = 0; l < 32; ++l) {
      const int high = (block.qh[l] >> s) & 1;
      q[l] = static_cast<int8_t>(((qs[l] >> shift) & 15) | high << 4);
    }
    ScaleAndAdd<32>(q, d * static_cast<float>(scales[s]), -(dmin * static_cast<float>(minima[s])),
                    to + 32 * s);
  }
}

void DecodeQ6_K(const BlockQ6_K& block, float* to) {
  const float d = LoadF16(block.d);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* ql = block.ql + 64 * half;
    uint8_t high[128];
    UnpackPairs(block.qh + 32 * half, high);
    int8_t q[128];
    for (int l = 0; l < 64; ++l) {
      q[l] = static_cast<int8_t>(((ql[l] & 15) | high[l] << 4) - 32);
      q[l + 64] = static_cast<int8_t>(((ql[l] >> 4) | high[l + 64] << 4) - 32);
    }
    for (int s = 0; s < 8; ++s) {
      const float scale = d * static_cast<float>(block.scales[8 * half + s]);
      Scale<16>(q + 16 * s, scale, to + 128 * half + 16 * s);
    }
  }
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

const Format kFormatQ2_K = MakeFormat<BlockQ2_K, DecodeQ2_K, SetQ2_K>(TensorType::kQ2_K, "q2_K");
const Format kFormatQ3_K =
    MakeFormat<BlockQ3_K, DecodeQ3_K, SetScale<BlockQ3_K, 4200>>(TensorType::kQ3_K, "q3_K");
const Format kFormatQ4_K =
    MakeFormat<BlockQ4_K, DecodeQ4_K, SetScalesAndMinima<BlockQ4_K, 16700, 15>>(TensorType::kQ4_K,
                                                                                "q4_K");
const Format kFormatQ5_K =
    MakeFormat<BlockQ5_K, DecodeQ5_K, SetScalesAndMinima<BlockQ5_K, 33500, 31>>(TensorType::kQ5_K,
                                                                                "q5_K");
const Format kFormatQ6_K =
    MakeFormat<BlockQ6_K, DecodeQ6_K, SetScale<BlockQ6_K, 136600>>(TensorType::kQ6_K, "q6_K");

}  // namespace berth::kernels
