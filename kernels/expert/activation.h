// The activations in F32, as the models' public implementations write them
// (github.com/ggml-org/ggml, src/ggml-cpu: silu, gelu, swiglu_oai, reglu).
#ifndef BERTH_KERNELS_EXPERT_ACTIVATION_H_
#define BERTH_KERNELS_EXPERT_ACTIVATION_H_

#include <algorithm>
#include <cmath>

#include "kernels/expert/expert_spec.h"

namespace berth::kernels {

inline float Sigmoid(float value) { return 1.0f / (1.0f + std::exp(-value)); }

inline float GeluTanh(float value) {
  constexpr float kSqrtTwoOverPi = 0.7978845608028654f;
  constexpr float kCubic = 0.044715f;
  return 0.5f * value *
         (1.0f + std::tanh(kSqrtTwoOverPi * value * (1.0f + kCubic * value * value)));
}

// gate is ignored where the conventions have none. A NaN in either comes out as a NaN: the clamps
// keep their first argument when a comparison fails.
inline float Activate(const ExpertConventions& conventions, float gate, float up) {
  switch (conventions.activation) {
    case Activation::kSiluGate:
      return gate / (1.0f + std::exp(-gate)) * up;
    case Activation::kGeluGate:
      return GeluTanh(gate) * up;
    case Activation::kClampedGate: {
      const float g = std::min(gate, conventions.limit);
      const float u = std::clamp(up, -conventions.limit, conventions.limit);
      return g * Sigmoid(conventions.alpha * g) * (u + 1.0f);
    }
    case Activation::kReluGate:
      return (gate < 0.0f ? 0.0f : gate) * up;
    case Activation::kSquaredRelu: {
      const float positive = up < 0.0f ? 0.0f : up;
      return positive * positive;
    }
  }
  return 0.0f;
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_ACTIVATION_H_
