// TQ1_0 and TQ2_0: weights of -1, 0, 1 under one scale per 256.
#include "kernels/formats/block.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

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

// Digit n of kBytes bytes, for n = 0 to kDigits - 1: multiplying by 3^n modulo 256 drops the digits
// before, multiplying by 3 once more brings the digit above the point.
template <int kBytes, int kDigits>
inline float* DecodeDigits(const uint8_t* __restrict qs, float d, float* __restrict to) {
  uint8_t fraction[kBytes];
  std::memcpy(fraction, qs, kBytes);
  for (int n = 0; n < kDigits; ++n) {
    int8_t q[kBytes];
    for (int i = 0; i < kBytes; ++i) {
      const uint32_t tripled = fraction[i] * 3u;
      q[i] = static_cast<int8_t>(static_cast<int>(tripled >> 8) - 1);
      fraction[i] = static_cast<uint8_t>(tripled);
    }
    Scale<kBytes>(q, d, to);
    to += kBytes;
  }
  return to;
}

void DecodeTq1_0(const BlockTq1_0& block, float* to) {
  const float d = LoadF16(block.d);
  to = DecodeDigits<32, 5>(block.qs, d, to);
  to = DecodeDigits<16, 5>(block.qs + 32, d, to);
  DecodeDigits<4, 4>(block.qh, d, to);
}

void DecodeTq2_0(const BlockTq2_0& block, float* to) {
  const float d = LoadF16(block.d);
  for (int part = 0; part < 8; ++part) {
    const uint8_t* qs = block.qs + 32 * (part / 4);
    int8_t q[32];
    for (int l = 0; l < 32; ++l) {
      q[l] = static_cast<int8_t>(((qs[l] >> (2 * (part % 4))) & 3) - 1);
    }
    Scale<32>(q, d, to + 32 * part);
  }
}

// Digits: a third each. Any byte decodes, so only the scale is set.
constexpr int kRmsTq1 = 82;

// The quantizer writes no 3: make those a 1, which leaves 0, 1, 2 with shares of 1/4, 1/2, 1/4.
void SetTq2_0(BlockTq2_0& block, uint64_t noise) {
  for (uint8_t& four : block.qs) four &= static_cast<uint8_t>(~((four << 1) & 0xaa));
  SetScale<BlockTq2_0, 71>(block, noise);
}

}  // namespace

const Format kFormatTq1_0 =
    MakeFormat<BlockTq1_0, DecodeTq1_0, SetScale<BlockTq1_0, kRmsTq1>>(TensorType::kTQ1_0, "tq1_0");
const Format kFormatTq2_0 =
    MakeFormat<BlockTq2_0, DecodeTq2_0, SetTq2_0>(TensorType::kTQ2_0, "tq2_0");

}  // namespace berth::kernels
