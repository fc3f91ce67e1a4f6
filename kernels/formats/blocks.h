// The blocks of the quantized formats, byte by byte: structs of byte arrays, so that they have no
// alignment and no padding. Layouts are facts of the formats (github.com/ggml-org/ggml,
// src/ggml-common.h). F16 scales are named d, F16 minima m or dmin.
#ifndef BERTH_KERNELS_FORMATS_BLOCKS_H_
#define BERTH_KERNELS_FORMATS_BLOCKS_H_

#include <cstdint>

namespace berth::kernels {

struct BlockQ4_0 {
  static constexpr uint32_t kElements = 32;
  uint8_t d[2];    // F16 scale
  uint8_t qs[16];  // low nibbles: weights 0-15, high nibbles: 16-31; value + 8
};
static_assert(sizeof(BlockQ4_0) == 18);

struct BlockQ4_1 {
  static constexpr uint32_t kElements = 32;
  uint8_t d[2];
  uint8_t m[2];  // F16 minimum
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

struct BlockQ5_0 {
  static constexpr uint32_t kElements = 32;
  uint8_t d[2];
  uint8_t qh[4];  // bit i: the fifth bit of weight i
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

struct BlockQ5_1 {
  static constexpr uint32_t kElements = 32;
  uint8_t d[2];
  uint8_t m[2];
  uint8_t qh[4];
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

struct BlockQ8_0 {
  static constexpr uint32_t kElements = 32;
  uint8_t d[2];
  int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

struct BlockQ1_0 {
  static constexpr uint32_t kElements = 128;
  uint8_t d[2];
  uint8_t qs[16];  // a bit a weight, lowest first: +d or -d
};
static_assert(sizeof(BlockQ1_0) == 18);

struct BlockQ2_0 {
  static constexpr uint32_t kElements = 64;
  uint8_t d[2];
  uint8_t qs[16];  // two bits a weight, lowest first: value + 1, so -1 to 2
};
static_assert(sizeof(BlockQ2_0) == 18);

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

struct BlockIq3_Xxs {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[64];                // per 4 weights: the index
  uint8_t scales_and_signs[32];  // per 32 weights: 4 x 7 bits of signs and a 4-bit scale
};
static_assert(sizeof(BlockIq3_Xxs) == 98);

struct BlockIq3_S {
  static constexpr uint32_t kElements = 256;
  uint8_t d[2];
  uint8_t qs[64];     // per 4 weights: low 8 bits of the index
  uint8_t qh[8];      // per 32 weights: the eight ninth bits
  uint8_t signs[32];  // per 8 weights
  uint8_t scales[4];  // per 64 weights: low nibble for the first 32
};
static_assert(sizeof(BlockIq3_S) == 110);

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

struct BlockTq1_0 {
  static constexpr uint32_t kElements = 256;
  uint8_t qs[48];  // five ternary digits a byte, as the fraction byte / 256 in base 3
  uint8_t qh[4];   // the last 16 weights, four digits a byte
  uint8_t d[2];
};
static_assert(sizeof(BlockTq1_0) == 54);

struct BlockTq2_0 {
  static constexpr uint32_t kElements = 256;
  uint8_t qs[64];  // per 128 weights 32 bytes; byte l: weights l, l + 32, l + 64, l + 96
  uint8_t d[2];
};
static_assert(sizeof(BlockTq2_0) == 66);

struct BlockMxfp4 {
  static constexpr uint32_t kElements = 32;
  uint8_t e;  // E8M0: 2^(e - 127)
  uint8_t qs[16];
};
static_assert(sizeof(BlockMxfp4) == 17);

struct BlockNvfp4 {
  static constexpr uint32_t kElements = 64;
  uint8_t d[4];    // per 16 weights: UE4M3
  uint8_t qs[32];  // per 16 weights 8 bytes: low nibbles, then high nibbles
};
static_assert(sizeof(BlockNvfp4) == 36);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_BLOCKS_H_
