// The formats with one float scale per block: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, and the scaled one-
// and two-bit Q1_0 and Q2_0.
#include "kernels/formats/block.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

// The nibbles of 16 bytes: first the low ones, then the high ones.
inline void UnpackNibbles(const uint8_t* __restrict qs, int8_t* __restrict q) {
  for (int i = 0; i < 16; ++i) {
    q[i] = static_cast<int8_t>(qs[i] & 15);
    q[i + 16] = static_cast<int8_t>(qs[i] >> 4);
  }
}

// The fifth bits as bytes of 16 or 0, to be added to the nibbles.
inline void UnpackFifthBits(const uint8_t* qh, int8_t* to) {
  for (int i = 0; i < 4; ++i) {
    const uint64_t eight = kByteMasks[qh[i]] & 0x1010101010101010u;
    std::memcpy(to + 8 * i, &eight, sizeof(eight));
  }
}

void UnpackQ4_0(const BlockQ4_0& block, uint32_t first, WeightGroup* to) {
  int8_t* const q = to->q + 32 * first;
  UnpackNibbles(block.qs, q);
  for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(q[i] - 8);
  SetScales(LoadF16(block.d), first, 1, to);
}

// The minimum of these formats is added.
void SetMinimum(float m, uint32_t first, WeightGroup* to) {
  to->dmin[first] = -m;
  to->minimum[2 * first] = to->minimum[2 * first + 1] = 1;
}

void UnpackQ4_1(const BlockQ4_1& block, uint32_t first, WeightGroup* to) {
  UnpackNibbles(block.qs, to->q + 32 * first);
  SetScales(LoadF16(block.d), first, 1, to);
  SetMinimum(LoadF16(block.m), first, to);
}

void UnpackQ5_0(const BlockQ5_0& block, uint32_t first, WeightGroup* to) {
  int8_t high[32];
  UnpackFifthBits(block.qh, high);
  int8_t* const q = to->q + 32 * first;
  UnpackNibbles(block.qs, q);
  for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(q[i] + high[i] - 16);
  SetScales(LoadF16(block.d), first, 1, to);
}

void UnpackQ5_1(const BlockQ5_1& block, uint32_t first, WeightGroup* to) {
  int8_t high[32];
  UnpackFifthBits(block.qh, high);
  int8_t* const q = to->q + 32 * first;
  UnpackNibbles(block.qs, q);
  for (int i = 0; i < 32; ++i) q[i] = static_cast<int8_t>(q[i] + high[i]);
  SetScales(LoadF16(block.d), first, 1, to);
  SetMinimum(LoadF16(block.m), first, to);
}

void UnpackQ8_0(const BlockQ8_0& block, uint32_t first, WeightGroup* to) {
  std::memcpy(to->q + 32 * first, block.qs, sizeof(block.qs));
  SetScales(LoadF16(block.d), first, 1, to);
}

void UnpackQ1_0(const BlockQ1_0& block, uint32_t first, WeightGroup* to) {
  for (int i = 0; i < 16; ++i) {
    const uint64_t eight = ~kByteMasks[block.qs[i]] | 0x0101010101010101u;  // 1 or -1
    std::memcpy(to->q + 32 * first + 8 * i, &eight, sizeof(eight));
  }
  SetScales(LoadF16(block.d), first, 4, to);
}

void UnpackQ2_0(const BlockQ2_0& block, uint32_t first, WeightGroup* to) {
  int8_t* const q = to->q + 32 * first;
  for (int i = 0; i < 16; ++i) {
    const int four = block.qs[i];
    for (int j = 0; j < 4; ++j) q[4 * i + j] = static_cast<int8_t>(((four >> (2 * j)) & 3) - 1);
  }
  SetScales(LoadF16(block.d), first, 2, to);
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
    MakeFormat<BlockQ4_0, UnpackQ4_0, SetScale<BlockQ4_0, kRmsQ4>>(TensorType::kQ4_0, "q4_0");
const Format kFormatQ4_1 =
    MakeFormat<BlockQ4_1, UnpackQ4_1, SetScaleAndMinimum<BlockQ4_1, kRmsQ4, 15>,
               GroupKind{.minima = true}>(TensorType::kQ4_1, "q4_1");
const Format kFormatQ5_0 =
    MakeFormat<BlockQ5_0, UnpackQ5_0, SetScale<BlockQ5_0, kRmsQ5>>(TensorType::kQ5_0, "q5_0");
const Format kFormatQ5_1 =
    MakeFormat<BlockQ5_1, UnpackQ5_1, SetScaleAndMinimum<BlockQ5_1, kRmsQ5, 31>,
               GroupKind{.minima = true}>(TensorType::kQ5_1, "q5_1");
const Format kFormatQ8_0 =
    MakeFormat<BlockQ8_0, UnpackQ8_0, SetScale<BlockQ8_0, kRmsQ8>>(TensorType::kQ8_0, "q8_0");
const Format kFormatQ1_0 =
    MakeFormat<BlockQ1_0, UnpackQ1_0, SetScale<BlockQ1_0, kRmsQ1>>(TensorType::kQ1_0, "q1_0");
const Format kFormatQ2_0 =
    MakeFormat<BlockQ2_0, UnpackQ2_0, SetScale<BlockQ2_0, kRmsQ2>>(TensorType::kQ2_0, "q2_0");

}  // namespace berth::kernels
