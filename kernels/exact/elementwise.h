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
  const float n = __builtin_fmaf(clamped, kLog2E, kRound) - kRound;
  const float r = __builtin_fmaf(n, -kLn2Low, __builtin_fmaf(n, -kLn2High, clamped));
  float p = 1.0f / 5040;
  p = __builtin_fmaf(p, r, 1.0f / 720);
  p = __builtin_fmaf(p, r, 1.0f / 120);
  p = __builtin_fmaf(p, r, 1.0f / 24);
  p = __builtin_fmaf(p, r, 1.0f / 6);
  p = __builtin_fmaf(p, r, 0.5f);
  p = __builtin_fmaf(p, r, 1.0f);
  p = __builtin_fmaf(p, r, 1.0f);
  const int32_t exponent = static_cast<int32_t>(n);
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

// One block of 32, of which `count` exist (the last of a row may have fewer).
inline bool QuantizeBlock(const float* x, int8_t* q, float* d, int16_t* sums, float* s) {
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
    sums[0] = sums[1] = 0;
    *d = *s = finite ? 0.0f : FromBits(kQuietNan);
    return finite;
  }
  *d = scale;
  int32_t total = 0;
  for (int half = 0; half < 2; ++half) {
    int32_t sum = 0;
    for (int i = 16 * half; i < 16 * half + 16; ++i) {
      // Where the scale is a denormal it is coarse: without the clamp 178 may come out.
      const float ratio = x[i] / scale;
      const float clamped = ratio > 127.0f ? 127.0f : ratio < -127.0f ? -127.0f : ratio;
      const float rounded = clamped + kRound - kRound;
      const int32_t value = static_cast<int32_t>(rounded);
      q[i] = static_cast<int8_t>(value);
      sum += value;
    }
    sums[half] = static_cast<int16_t>(sum);
    total += sum;
  }
  *s = scale * static_cast<float>(total);
  return true;
}

inline bool QuantizeAll(const float* x, uint32_t cols, int8_t* q, float* d, int16_t* sums,
                        float* s) {
  const uint32_t blocks = cols / 32;
  bool finite = true;
  for (uint32_t b = 0; b < blocks; ++b) {
    finite &= QuantizeBlock(x + 32 * b, q + 32 * b, d + b, sums + 2 * b, s + b);
  }
  const uint32_t padded = (cols + 255) / 256 * 8;
  uint32_t b = blocks;
  if (cols % 32 != 0) {  // F16, BF16 and F32 weights may have any number of columns
    float last[32] = {};
    memcpy(last, x + 32 * b, (cols % 32) * sizeof(float));
    finite &= QuantizeBlock(last, q + 32 * b, d + b, sums + 2 * b, s + b);
    ++b;
  }
  memset(q + 32 * b, 0, 32 * (padded - b));
  memset(d + b, 0, (padded - b) * sizeof(float));
  memset(s + b, 0, (padded - b) * sizeof(float));
  memset(sums + 2 * b, 0, 2 * (padded - b) * sizeof(int16_t));
  return finite;
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_ELEMENTWISE_H_
