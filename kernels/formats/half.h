// F16 and BF16 to and from F32, in integer arithmetic that no floating-point mode can change
// (IEEE 754 binary16; bfloat16 is the upper half of a binary32).
#ifndef BERTH_KERNELS_FORMATS_HALF_H_
#define BERTH_KERNELS_FORMATS_HALF_H_

#include <bit>
#include <cstdint>

namespace berth::kernels {

// Exact. A signalling NaN stays a NaN with the same payload bits.
inline float F16ToF32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffu) << 13;
  // Rebias the exponent by 127 - 15; infinities and NaNs (exponent 31) need as much again.
  const uint32_t rebias = magnitude >= (31u << 23) ? 224u << 23 : 112u << 23;
  // A denormal is its mantissa in units of 2^-24: let the subtraction of 2^-14 normalize it.
  const float denormal =
      std::bit_cast<float>(magnitude + (113u << 23)) - std::bit_cast<float>(uint32_t{113u << 23});
  const uint32_t bits =
      magnitude < (1u << 23) ? std::bit_cast<uint32_t>(denormal) : magnitude + rebias;
  return std::bit_cast<float>(bits | sign);
}

inline float Bf16ToF32(uint16_t bf16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16);
}

// Rounds half to even; what is too large becomes an infinity, a NaN stays one (quiet).
inline uint16_t F32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= (143u << 23)) return sign | 0x7c00u;  // 2^16 and above
  if (magnitude < (102u << 23)) return sign;             // below half of the least denormal
  uint32_t mantissa;
  uint32_t shift;
  if (magnitude < (113u << 23)) {  // a denormal: units of 2^-24
    mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    shift = 126u - (magnitude >> 23);
  } else {
    mantissa = magnitude - (112u << 23);
    shift = 13;
  }
  const uint32_t half = 1u << (shift - 1);
  const uint32_t odd = (mantissa >> shift) & 1u;
  // A carry out of the mantissa walks into the exponent, which is what rounding up means.
  return sign | static_cast<uint16_t>((mantissa + half - 1 + odd) >> shift);
}

inline uint16_t F32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_HALF_H_
