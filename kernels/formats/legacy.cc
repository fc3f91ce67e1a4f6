// The formats with one float scale per block: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, and the scaled one-
// and two-bit Q1_0 and Q2_0.
#include "kernels/formats/block.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

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

// The nibbles of 16 bytes: first the low ones, then the high ones.
inline void UnpackNibbles(const uint8_t* __restrict qs, int8_t* __restrict q) {
  for (int i = 0; i < 16; ++i) {
    q[i] = static_cast<int8_t>(qs[i] & 15);
    q[i + 16] = static_cast<int8_t>(qs[i] >> 4);
  }
}

// Adds 16 where the weight's bit is set.
inline void AddFifthBits(const uint8_t* qh, int8_t* __restrict q) {
  for (int i = 0; i < 32; ++i) {
    q[i] = static_cast<int8_t>(q[i] | ((qh[i / 8] >> (i % 8)) & 1) << 4);
  }
}

void DecodeQ4_0(const BlockQ4_0& block, float* to) {
  int8_t q[32];
  UnpackNibbles(block.qs, q);
  for (int8_t& value : q) value = static_cast<int8_t>(value - 8);
  Scale<32>(q, LoadF16(block.d), to);
}

void DecodeQ4_1(const BlockQ4_1& block, float* to) {
  int8_t q[32];
  UnpackNibbles(block.qs, q);
  ScaleAndAdd<32>(q, LoadF16(block.d), LoadF16(block.m), to);
}

void DecodeQ5_0(const BlockQ5_0& block, float* to) {
  int8_t q[32];
  UnpackNibbles(block.qs, q);
  AddFifthBits(block.qh, q);
  for (int8_t& value : q) value = static_cast<int8_t>(value - 16);
  Scale<32>(q, LoadF16(block.d), to);
}

void DecodeQ5_1(const BlockQ5_1& block, float* to) {
  int8_t q[32];
  UnpackNibbles(block.qs, q);
  AddFifthBits(block.qh, q);
  ScaleAndAdd<32>(q, LoadF16(block.d), LoadF16(block.m), to);
}

void DecodeQ8_0(const BlockQ8_0& block, float* to) { Scale<32>(block.qs, LoadF16(block.d), to); }

void DecodeQ1_0(const BlockQ1_0& block, float* to) {
  const float d = LoadF16(block.d);
  const float values[2] = {-d, d};
  for (int i = 0; i < 128; ++i) to[i] = values[(block.qs[i / 8] >> (i % 8)) & 1];
}

void DecodeQ2_0(const BlockQ2_0& block, float* to) {
  const float d = LoadF16(block.d);
  const float values[4] = {-1 * d, 0 * d, 1 * d, 2 * d};
  for (int i = 0; i < 16; ++i) {
    const uint32_t four = block.qs[i];
    to[4 * i + 0] = values[four & 3];
    to[4 * i + 1] = values[(four >> 2) & 3];
    to[4 * i + 2] = values[(four >> 4) & 3];
    to[4 * i + 3] = values[four >> 6];
  }
}

// Root mean squares of uniformly drawn levels.
constexpr int kRmsQ4 = 460, kRmsQ5 = 920, kRmsQ8 = 7400, kRmsQ1 = 100, kRmsQ2 = 122;

// The minimum that centres levels 0 to kTop on zero.
template <typename Block, int kRmsHundredths, int kTop>
void SetScaleAndMinimum(Block& block, uint64_t noise) {
  const float scale = GeneratedScale(kRmsHundredths, noise);
  StoreU16(F32ToF16(scale), block.d);
  StoreU16(F32ToF16(scale * (-0.5f * kTop)), block.m);
}

}  // namespace

const Format kFormatQ4_0 =
    MakeFormat<BlockQ4_0, DecodeQ4_0, SetScale<BlockQ4_0, kRmsQ4>>(TensorType::kQ4_0, "q4_0");
const Format kFormatQ4_1 =
    MakeFormat<BlockQ4_1, DecodeQ4_1, SetScaleAndMinimum<BlockQ4_1, kRmsQ4, 15>>(TensorType::kQ4_1,
                                                                                 "q4_1");
const Format kFormatQ5_0 =
    MakeFormat<BlockQ5_0, DecodeQ5_0, SetScale<BlockQ5_0, kRmsQ5>>(TensorType::kQ5_0, "q5_0");
const Format kFormatQ5_1 =
    MakeFormat<BlockQ5_1, DecodeQ5_1, SetScaleAndMinimum<BlockQ5_1, kRmsQ5, 31>>(TensorType::kQ5_1,
                                                                                 "q5_1");
const Format kFormatQ8_0 =
    MakeFormat<BlockQ8_0, DecodeQ8_0, SetScale<BlockQ8_0, kRmsQ8>>(TensorType::kQ8_0, "q8_0");
const Format kFormatQ1_0 =
    MakeFormat<BlockQ1_0, DecodeQ1_0, SetScale<BlockQ1_0, kRmsQ1>>(TensorType::kQ1_0, "q1_0");
const Format kFormatQ2_0 =
    MakeFormat<BlockQ2_0, DecodeQ2_0, SetScale<BlockQ2_0, kRmsQ2>>(TensorType::kQ2_0, "q2_0");

}  // namespace berth::kernels
