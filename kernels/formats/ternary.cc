// TQ1_0 and TQ2_0: weights of -1, 0, 1 under one scale per 256.
#include "kernels/formats/block.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

// Digit n of kBytes bytes, for n = 0 to kDigits - 1: multiplying by 3^n modulo 256 drops the digits
// before, multiplying by 3 once more brings the digit above the point.
template <int kBytes, int kDigits>
inline int8_t* UnpackDigits(const uint8_t* __restrict qs, int8_t* __restrict to) {
  uint8_t fraction[kBytes];
  std::memcpy(fraction, qs, kBytes);
  for (int n = 0; n < kDigits; ++n) {
    for (int i = 0; i < kBytes; ++i) {
      const uint32_t tripled = fraction[i] * 3u;
      to[i] = static_cast<int8_t>(static_cast<int>(tripled >> 8) - 1);
      fraction[i] = static_cast<uint8_t>(tripled);
    }
    to += kBytes;
  }
  return to;
}

void UnpackTq1_0(const BlockTq1_0& block, uint32_t, WeightGroup* to) {
  int8_t* q = UnpackDigits<32, 5>(block.qs, to->q);
  q = UnpackDigits<16, 5>(block.qs + 32, q);
  UnpackDigits<4, 4>(block.qh, q);
  SetScales(LoadF16(block.d), 0, 8, to);
}

void UnpackTq2_0(const BlockTq2_0& block, uint32_t, WeightGroup* to) {
  for (int part = 0; part < 8; ++part) {
    const uint8_t* qs = block.qs + 32 * (part / 4);
    int8_t* const q = to->q + 32 * part;
    for (int l = 0; l < 32; ++l) {
      q[l] = static_cast<int8_t>(((qs[l] >> (2 * (part % 4))) & 3) - 1);
    }
  }
  SetScales(LoadF16(block.d), 0, 8, to);
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
    MakeFormat<BlockTq1_0, UnpackTq1_0, SetScale<BlockTq1_0, kRmsTq1>>(TensorType::kTQ1_0, "tq1_0");
const Format kFormatTq2_0 =
    MakeFormat<BlockTq2_0, UnpackTq2_0, SetTq2_0>(TensorType::kTQ2_0, "tq2_0");

}  // namespace berth::kernels
