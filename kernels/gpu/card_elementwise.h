// What kernels/exact/elementwise.h defines, for a card: the same operations in the same order.
// Divisions, products and sums are spelled out, so that no compiler joins them.
#ifndef BERTH_KERNELS_GPU_CARD_ELEMENTWISE_H_
#define BERTH_KERNELS_GPU_CARD_ELEMENTWISE_H_

#include <cstdint>

#include "kernels/expert/expert_spec.h"
#include "kernels/gpu/card_code.h"

namespace berth::kernels::gpu {

inline constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
inline constexpr uint32_t kRoundBits = 0x4B400000;

// Which NaN an operation gives differs between processors.
BERTH_CARD float Canonical(float value) { return value == value ? value : FloatOf(0x7fc00000); }

BERTH_CARD float Exp(float x) {
  const float clamped = x > 128.0f ? 128.0f : x < -128.0f ? -128.0f : x;
  const float rounded = Fma(clamped, 0x1.715476p+0f, kRound);
  const float n = Sub(rounded, kRound);
  const float r = Fma(n, -0x1.7f7d1cp-20f, Fma(n, -0x1.62e400p-1f, clamped));
  float p = 1.0f / 5040;
  p = Fma(p, r, 1.0f / 720);
  p = Fma(p, r, 1.0f / 120);
  p = Fma(p, r, 1.0f / 24);
  p = Fma(p, r, 1.0f / 6);
  p = Fma(p, r, 0.5f);
  p = Fma(p, r, 1.0f);
  p = Fma(p, r, 1.0f);
  const auto exponent = static_cast<int32_t>(BitsOf(rounded) - kRoundBits);
  const int32_t first = exponent >> 1;
  const int32_t second = exponent - first;
  p = Mul(p, FloatOf(static_cast<uint32_t>(first + 127) << 23));
  return Mul(p, FloatOf(static_cast<uint32_t>(second + 127) << 23));
}

BERTH_CARD float Logistic(float x) { return Div(1.0f, Add(1.0f, Exp(-x))); }

BERTH_CARD float GeluTanh(float x) {
  const float inner = Fma(Mul(0.044715f, x), Mul(x, x), x);
  return Mul(x, Logistic(Mul(0x1.988454p+0f, inner)));
}

// `gate` is ignored where the activation has none.
BERTH_CARD float Activate(Activation activation, float alpha, float limit, float gate, float up) {
  switch (activation) {
    case Activation::kSiluGate:
      return Canonical(Mul(Div(gate, Add(1.0f, Exp(-gate))), up));
    case Activation::kGeluGate:
      return Canonical(Mul(GeluTanh(gate), up));
    case Activation::kClampedGate: {
      const float g = limit < gate ? limit : gate;
      const float most = limit < up ? limit : up;
      const float u = most < -limit ? -limit : most;
      return Canonical(Mul(Mul(g, Logistic(Mul(alpha, g))), Add(u, 1.0f)));
    }
    case Activation::kReluGate:
      return Canonical(Mul(gate < 0.0f ? 0.0f : gate, up));
    case Activation::kSquaredRelu: {
      const float positive = up < 0.0f ? 0.0f : up;
      return Canonical(Mul(positive, positive));
    }
  }
  return 0.0f;
}

// scale * (weight * product) + bias (docs/arithmetic.md).
BERTH_CARD float ApplySiblings(float product, float weight, float scale, float bias) {
  return Canonical(Add(Mul(scale, Mul(weight, product)), bias));
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CARD_ELEMENTWISE_H_
