// What the exact arithmetic does element by element: 8-bit activations, exp, the activation
// functions. One source for all instruction sets: each includes it into a file of its own, compiled
// for it, and the compiler vectorizes.
//
// Everything here is internal to the file that includes it. An inline function with linkage,
// compiled for AVX-512 in one file, might be the copy that the linker keeps for all of them.
#ifndef BERTH_KERNELS_EXACT_ELEMENTWISE_H_
#define BERTH_KERNELS_EXACT_ELEMENTWISE_H_

#include <stdint.h>
#include <string.h>

#include "kernels/expert/expert_spec.h"

namespace berth::kernels {
namespace {

inline float FromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}
inline uint32_t ToBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

constexpr uint32_t kQuietNan = 0x7fc00000;
// Which NaN an operation gives differs between processors.
inline float Canonical(float value) { return value == value ? value : FromBits(kQuietNan); }

// 1.5 * 2^23: what is added to it and taken off again is rounded to an integer, half to even.
constexpr float kRound = 12582912.0f;

// exp(x), at most 1 ulp off where the result is normal. x = n ln 2 + r, |r| <= ln 2 / 2; exp(r) is
// its Taylor polynomial up to r^7, whose rest is below 2^-27; 2^n in two factors, so that a
// denormal result is rounded once.
inline float Exp(float x) {
  constexpr float kLog2E = 0x1.715476p+0f;
  constexpr float kLn2High = 0x1.62e400p-1f;  // 15 bits: n times it is exact
  constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  const float clamped = x > 128.0f ? 128.0f : x < -128.0f ? -128.0f : x;
  const float rounded = __builtin_fmaf(clamped, kLog2E, kRound);
  const float n = rounded - kRound;
  const float r = __builtin_fmaf(n, -kLn2Low, __builtin_fmaf(n, -kLn2High, clamped));
  float p = 1.0f / 5040;
  p = __builtin_fmaf(p, r, 1.0f / 720);
  p = __builtin_fmaf(p, r, 1.0f / 120);
  p = __builtin_fmaf(p, r, 1.0f / 24);
  p = __builtin_fmaf(p, r, 1.0f / 6);
  p = __builtin_fmaf(p, r, 0.5f);
  p = __builtin_fmaf(p, r, 1.0f);
  p = __builtin_fmaf(p, r, 1.0f);
  // n from the mantissa's last bits: a NaN has no integer to convert to, and compilers know that.
  const auto exponent = static_cast<int32_t>(ToBits(rounded) - ToBits(kRound));
  const int32_t first = exponent >> 1;
  const int32_t second = exponent - first;
  p *= FromBits(static_cast<uint32_t>(first + 127) << 23);
  return p * FromBits(static_cast<uint32_t>(second + 127) << 23);
}

inline float Logistic(float x) { return 1.0f / (1.0f + Exp(-x)); }

// 0.5 (1 + tanh(u)) = 1 / (1 + exp(-2 u)): no tanh is needed.
inline float GeluTanh(float x) {
  constexpr float kTwiceSqrtTwoOverPi = 0x1.988454p+0f;
  constexpr float kCubic = 0.044715f;
  const float inner = __builtin_fmaf(kCubic * x, x * x, x);
  return x * Logistic(kTwiceSqrtTwoOverPi * inner);
}

// A NaN in either operand comes out: the clamps keep their first argument when a comparison fails.
inline void ActivateAll(const ExpertConventions& conventions, const float* gate, const float* up,
                        uint32_t count, float* to) {
  const float limit = conventions.limit;
  const float alpha = conventions.alpha;
  switch (conventions.activation) {
    case Activation::kSiluGate:
      for (uint32_t i = 0; i < count; ++i) {
        to[i] = Canonical(gate[i] / (1.0f + Exp(-gate[i])) * up[i]);
      }
      return;
    case Activation::kGeluGate:
      for (uint32_t i = 0; i < count; ++i) to[i] = Canonical(GeluTanh(gate[i]) * up[i]);
      return;
    case Activation::kClampedGate:
      for (uint32_t i = 0; i < count; ++i) {
        const float g = limit < gate[i] ? limit : gate[i];
        const float most = limit < up[i] ? limit : up[i];
        const float u = most < -limit ? -limit : most;
        to[i] = Canonical(g * Logistic(alpha * g) * (u + 1.0f));
      }
      return;
    case Activation::kReluGate:
      for (uint32_t i = 0; i < count; ++i) {
        to[i] = Canonical((gate[i] < 0.0f ? 0.0f : gate[i]) * up[i]);
      }
      return;
    case Activation::kSquaredRelu:
      for (uint32_t i = 0; i < count; ++i) {
        const float positive = up[i] < 0.0f ? 0.0f : up[i];
        to[i] = Canonical(positive * positive);
      }
      return;
  }
}

// One block of 32.
inline bool QuantizeBlock(const float* x, int8_t* q, float* d) {
  // Magnitudes as integers: they order as the floats do, and infinities and NaNs come last.
  uint32_t largest = 0;
  for (int i = 0; i < 32; ++i) {
    const uint32_t magnitude = ToBits(x[i]) & 0x7fffffff;
    largest = magnitude > largest ? magnitude : largest;
  }
  const bool finite = largest < 0x7f800000;
  const float scale = FromBits(largest) / 127.0f;
  // The smallest denormals divided by 127 are zero.
  if (!finite || scale == 0.0f) {
    memset(q, 0, 32);
    *d = finite ? 0.0f : FromBits(kQuietNan);
    return finite;
  }
  *d = scale;
  int8_t rounded[32];
  for (int i = 0; i < 32; ++i) {
    // The mantissa's last bits are the integer. Clamped as such: compilers know how.
    const auto value = static_cast<int32_t>(ToBits(x[i] / scale + kRound) - ToBits(kRound));
    // Where the scale is a denormal it is coarse: without the clamp 178 may come out.
    const int32_t most = value < 127 ? value : 127;
    rounded[i] = static_cast<int8_t>(most > -127 ? most : -127);
  }
  memcpy(q, rounded, sizeof(rounded));
  return true;
}

// Sums of 16 numbers each, 256 numbers at a time. Numbers are taken 128 up, as the unsigned bytes
// of words whose parts are added up: every step is a loop over words, which compilers vectorize
// (they unroll a loop of 16 numbers, and do not vectorize what comes of it).
inline void SumHalves(const int8_t* q, uint32_t groups, int16_t* sums) {
  constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
  for (uint32_t g = 0; g < groups; ++g, q += 256, sums += 16) {
    uint64_t words[32];
    memcpy(words, q, sizeof(words));
    for (uint64_t& word : words) {
      const uint64_t up = word ^ 0x8080808080808080;
      const uint64_t pairs = (up & kEven) + (up >> 8 & kEven);
      const uint64_t fours = pairs + (pairs >> 32);
      word = (fours + (fours >> 16)) & 0xffff;
    }
    for (int half = 0; half < 16; ++half) {
      const auto sum = static_cast<int32_t>(words[2 * half] + words[2 * half + 1]);
      sums[half] = static_cast<int16_t>(sum - 16 * 128);
    }
  }
}

inline bool QuantizeAll(const float* x, uint32_t cols, int8_t* q, float* d, int16_t* sums,
                        float* s) {
  const uint32_t blocks = cols / 32;
  bool finite = true;
  for (uint32_t b = 0; b < blocks; ++b) finite &= QuantizeBlock(x + 32 * b, q + 32 * b, d + b);
  const uint32_t groups = (cols + 255) / 256;
  uint32_t b = blocks;
  if (cols % 32 != 0) {  // F16, BF16 and F32 weights may have any number of columns
    float last[32] = {};
    memcpy(last, x + 32 * b, (cols % 32) * sizeof(float));
    finite &= QuantizeBlock(last, q + 32 * b, d + b);
    ++b;
  }
  memset(q + 32 * b, 0, 32 * (8 * groups - b));
  memset(d + b, 0, (8 * groups - b) * sizeof(float));
  SumHalves(q, groups, sums);
  for (uint32_t i = 0; i < 8 * groups; ++i) {
    s[i] = d[i] * static_cast<float>(sums[2 * i] + sums[2 * i + 1]);
  }
  return finite;
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_ELEMENTWISE_H_
