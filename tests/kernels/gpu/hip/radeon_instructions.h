// What the instructions of a Radeon that device code names do, in plain C++, as AMD's "RDNA3
// Instruction Set Architecture" describes them. A test that is compiled with this file in front
// (-include) takes those paths through the code that are otherwise compiled for a Radeon alone, and
// holds them against the same references, bit by bit.
#ifndef BERTH_TESTS_KERNELS_GPU_HIP_RADEON_INSTRUCTIONS_H_
#define BERTH_TESTS_KERNELS_GPU_HIP_RADEON_INSTRUCTIONS_H_

#include <cstdint>

#include "kernels/formats/half.h"

#if defined(__HIPCC__) || defined(__CUDACC__)
#error "for ordinary compilers"
#endif
#define __HIP_DEVICE_COMPILE__ 1
#define __gfx1100__ 1

namespace berth::radeon {

// v_perm_b32.
inline uint32_t Perm(uint32_t high, uint32_t low, uint32_t selectors) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 8) {
    const uint32_t selector = selectors >> i & 0xff;
    uint32_t byte = 0;
    if (selector < 8) {
      byte = both >> (8 * selector) & 0xff;
    } else if (selector < 12) {  // the signs of bytes 1, 3, 5, 7
      byte = (both >> (16 * (selector - 8) + 15) & 1) * 0xff;
    } else {
      byte = selector == 12 ? 0 : 0xff;
    }
    result |= byte << i;
  }
  return result;
}

// v_alignbit_b32.
inline uint32_t AlignBit(uint32_t high, uint32_t low, uint32_t bits) {
  return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> (bits & 31));
}

// v_dot4_i32_iu8, without saturation.
inline int32_t Dot4(bool a_signed, int32_t a, bool b_signed, int32_t b, int32_t c) {
  for (int i = 0; i < 32; i += 8) {
    const auto x = static_cast<uint8_t>(static_cast<uint32_t>(a) >> i);
    const auto y = static_cast<uint8_t>(static_cast<uint32_t>(b) >> i);
    c += (a_signed ? static_cast<int8_t>(x) : x) * (b_signed ? static_cast<int8_t>(y) : y);
  }
  return c;
}

// v_mul_u32_u24.
inline uint32_t MulU24(uint32_t a, uint32_t b) { return (a & 0xffffff) * (b & 0xffffff); }

// As conversions to F32 (v_cvt_f32_f16) see it.
struct Half {
  uint16_t bits;
  operator float() const { return kernels::F16ToF32(bits); }  // NOLINT(google-explicit-constructor)
};

}  // namespace berth::radeon

struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};

#define _Float16 ::berth::radeon::Half
#define __builtin_amdgcn_perm(high, low, selectors) ::berth::radeon::Perm(high, low, selectors)
#define __builtin_amdgcn_alignbit(high, low, bits) ::berth::radeon::AlignBit(high, low, bits)
#define __builtin_amdgcn_sudot4(a_signed, a, b_signed, b, c, clamp) \
  ::berth::radeon::Dot4(a_signed, a, b_signed, b, c)
#define __umul24(a, b) ::berth::radeon::MulU24(a, b)

#endif  // BERTH_TESTS_KERNELS_GPU_HIP_RADEON_INSTRUCTIONS_H_
