// A layer of a few tiny F16 experts with known weights, and its FFN in double precision.
#ifndef BERTH_TESTS_KERNELS_SMALL_EXPERTS_H_
#define BERTH_TESTS_KERNELS_SMALL_EXPERTS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/expert/expert_spec.h"

namespace berth::kernels {

class SmallExperts {
 public:
  static constexpr uint32_t kExperts = 4;
  static constexpr uint32_t kHidden = 64;
  static constexpr uint32_t kFfn = 32;
  static constexpr uint32_t kTensorBytes = kHidden * kFfn * 2;
  static constexpr uint32_t kUnitBytes = 3 * kTensorBytes;

  SmallExperts() {
    spec_.experts = kExperts;
    spec_.hidden = kHidden;
    spec_.ffn = kFfn;
    spec_.gate = {TensorType::kF16, kFfn, kHidden, kHidden * 2, 0};
    spec_.up = {TensorType::kF16, kFfn, kHidden, kHidden * 2, kTensorBytes};
    spec_.down = {TensorType::kF16, kHidden, kFfn, kFfn * 2, 2 * kTensorBytes};
    spec_.unit_bytes = kUnitBytes;
  }
  const ExpertSpec& spec() const { return spec_; }

  std::vector<std::byte> UnitBytes(uint32_t expert) const {
    std::vector<std::byte> bytes(kUnitBytes);
    for (uint32_t i = 0; i < 3 * kHidden * kFfn; ++i) {
      const uint16_t half = Half(Weight(expert, i));
      std::memcpy(&bytes[i * 2], &half, 2);
    }
    return bytes;
  }

  // What expert `expert` makes of one row.
  std::vector<double> Apply(uint32_t expert, const float* x) const {
    std::vector<double> inner(kFfn), y(kHidden);
    for (uint32_t f = 0; f < kFfn; ++f) {
      double gate = 0, up = 0;
      for (uint32_t h = 0; h < kHidden; ++h) {
        gate += static_cast<double>(Weight(expert, f * kHidden + h)) * x[h];
        up += static_cast<double>(Weight(expert, kFfn * kHidden + f * kHidden + h)) * x[h];
      }
      inner[f] = gate / (1 + std::exp(-gate)) * up;
    }
    for (uint32_t h = 0; h < kHidden; ++h) {
      for (uint32_t f = 0; f < kFfn; ++f) {
        y[h] += inner[f] * Weight(expert, 2 * kFfn * kHidden + h * kFfn + f);
      }
    }
    return y;
  }

 private:
  // A multiple of 1/64 in (-0.5, 0.5): exact as a half.
  static float Weight(uint32_t expert, uint32_t index) {
    uint32_t mixed = (expert * 12289 + index + 1) * 2654435761u;
    mixed ^= mixed >> 15;
    return static_cast<float>(static_cast<int>(mixed % 63) - 31) / 64;
  }
  // The binary16 form of a multiple of 1/64 below 1.
  static uint16_t Half(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7FFFFFFF) == 0) return 0;
    const uint32_t exponent = ((bits >> 23) & 0xFF) - 127 + 15;
    return static_cast<uint16_t>(((bits >> 16) & 0x8000) | (exponent << 10) |
                                 ((bits >> 13) & 0x3FF));
  }

  ExpertSpec spec_;
};

}  // namespace berth::kernels

#endif  // BERTH_TESTS_KERNELS_SMALL_EXPERTS_H_
