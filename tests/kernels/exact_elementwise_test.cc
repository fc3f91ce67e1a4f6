// The element-wise steps of the exact arithmetic: 8-bit activations, exp, the activation functions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/exact/elementwise.h"
#include "kernels/exact/float_mode.h"
#include "tests/kernels/exact_rows.h"

namespace berth::kernels {
namespace {

using testing::DrawValues;
using testing::QuantizedRows;
using testing::Values;

TEST(Exp, IsWithinAnUlpWhereTheResultIsNormal) {
  const FloatMode mode;
  double worst = 0;
  for (float x = -87.3f; x < 88.7f; x += 0.0007f) {
    const float got = Exp(x);
    const double ulp = std::ldexp(1.0, std::ilogb(got) - 23);
    worst = std::max(worst, std::abs(got - std::exp(static_cast<double>(x))) / ulp);
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_GT(worst, 0.5);
}

TEST(Exp, EndsInZeroAndInfinity) {
  const FloatMode mode;
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-0.0f), 1.0f);
  EXPECT_EQ(Exp(200.0f), INFINITY);
  EXPECT_EQ(Exp(INFINITY), INFINITY);
  EXPECT_EQ(Exp(-200.0f), 0.0f);
  EXPECT_EQ(Exp(-INFINITY), 0.0f);
  EXPECT_TRUE(std::isnan(Exp(NAN)));
  // Denormal results are kept.
  EXPECT_NEAR(Exp(-95.0f) / std::exp(-95.0), 1, 1e-4);
  EXPECT_GT(Exp(-103.0f), 0.0f);
}

TEST(Quantize, FollowsItsDefinition) {
  const FloatMode mode;
  std::mt19937 random(1);
  const std::vector<std::vector<float>> x = {DrawValues(Values::kOrdinary, 320, random)};
  const QuantizedRows rows(KernelsOf(Isa::kScalar), x);
  EXPECT_TRUE(rows.finite());
  const ActivationRow& row = rows.rows()[0];
  for (uint32_t block = 0; block < 10; ++block) {
    float largest = 0;
    for (uint32_t i = 32 * block; i < 32 * block + 32; ++i) {
      largest = std::max(largest, std::abs(x[0][i]));
    }
    ASSERT_EQ(row.d[block], largest / 127.0f);
    for (uint32_t half = 2 * block; half < 2 * block + 2; ++half) {
      int sum = 0;
      for (uint32_t i = 16 * half; i < 16 * half + 16; ++i) {
        ASSERT_EQ(row.q[i], std::nearbyint(x[0][i] / row.d[block]));
        sum += row.q[i];
      }
      ASSERT_EQ(row.sums[half], sum);
    }
    const int both = row.sums[2 * block] + row.sums[2 * block + 1];
    ASSERT_EQ(row.s[block], row.d[block] * static_cast<float>(both));
  }
  for (uint32_t i = 320; i < 512; ++i) ASSERT_EQ(row.q[i], 0);
  for (uint32_t block = 10; block < 16; ++block) ASSERT_EQ(row.d[block], 0.0f);
}

TEST(Quantize, TiesGoToEvenAndTheLargestIs127) {
  const FloatMode mode;
  std::vector<float> x(32, 0.0f);
  x[0] = 127;
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = -2.5f;
  x[4] = -127;
  const QuantizedRows rows(KernelsOf(Isa::kScalar), {x});
  const int8_t* const q = rows.rows()[0].q;
  EXPECT_EQ(q[0], 127);
  EXPECT_EQ(q[1], 0);
  EXPECT_EQ(q[2], 2);
  EXPECT_EQ(q[3], -2);
  EXPECT_EQ(q[4], -127);
}

TEST(Quantize, WhatIsNotFiniteIsSaidAndSpoilsItsBlockOnly) {
  const FloatMode mode;
  for (const Isa isa : UsableIsas()) {
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      std::vector<float> x(64, 1.0f);
      x[40] = bad;
      const QuantizedRows rows(KernelsOf(isa), {x});
      EXPECT_FALSE(rows.finite());
      EXPECT_EQ(rows.rows()[0].d[0], 1.0f / 127.0f);
      EXPECT_TRUE(std::isnan(rows.rows()[0].d[1]));
      EXPECT_EQ(rows.rows()[0].q[33], 0);
    }
  }
}

TEST(Quantize, EveryInstructionSetGivesTheSameBytes) {
  const FloatMode mode;
  std::mt19937 random(4);
  for (const Isa isa : UsableIsas()) {
    for (int trial = 0; trial < 300; ++trial) {
      const size_t cols = 1 + random() % 700;
      const Values kind = trial % 3 == 0 ? Values::kOrdinary : Values::kHostile;
      const std::vector<std::vector<float>> x = {DrawValues(kind, cols, random)};
      EXPECT_TRUE(
          QuantizedRows(KernelsOf(isa), x).SameAs(QuantizedRows(KernelsOf(Isa::kScalar), x)))
          << IsaName(isa) << " cols " << cols;
    }
  }
}

constexpr Activation kActivations[] = {Activation::kSiluGate, Activation::kGeluGate,
                                       Activation::kClampedGate, Activation::kReluGate,
                                       Activation::kSquaredRelu};

double Expected(const ExpertConventions& conventions, double gate, double up) {
  switch (conventions.activation) {
    case Activation::kSiluGate:
      return gate / (1 + std::exp(-gate)) * up;
    case Activation::kGeluGate:
      return 0.5 * gate *
             (1 + std::tanh(std::sqrt(2 / M_PI) * (gate + 0.044715 * gate * gate * gate))) * up;
    case Activation::kClampedGate: {
      const double g = std::min(gate, static_cast<double>(conventions.limit));
      const double u = std::clamp<double>(up, -conventions.limit, conventions.limit);
      return g / (1 + std::exp(-static_cast<double>(conventions.alpha) * g)) * (u + 1);
    }
    case Activation::kReluGate:
      return std::max(gate, 0.0) * up;
    case Activation::kSquaredRelu:
      return std::pow(std::max(up, 0.0), 2);
  }
  return NAN;
}

TEST(Activate, IsTheFunctionInDoublePrecision) {
  const FloatMode mode;
  std::mt19937 random(5);
  for (const Activation activation : kActivations) {
    ExpertConventions conventions;
    conventions.activation = activation;
    for (int i = 0; i < 20000; ++i) {
      const float gate = (static_cast<float>(random()) * 0x1p-31f - 1.0f) * 12.0f;
      const float up = (static_cast<float>(random()) * 0x1p-31f - 1.0f) * 12.0f;
      float got = NAN;
      KernelsOf(Isa::kScalar).activate(conventions, &gate, &up, 1, &got);
      const double expected = Expected(conventions, gate, up);
      ASSERT_NEAR(got, expected, 2e-6 * std::abs(expected) + 1e-12)
          << ActivationName(activation) << " of " << gate << ", " << up;
    }
  }
}

TEST(Activate, EveryInstructionSetGivesTheSameBits) {
  const FloatMode mode;
  std::mt19937 random(6);
  for (const Activation activation : kActivations) {
    ExpertConventions conventions;
    conventions.activation = activation;
    for (const Isa isa : UsableIsas()) {
      for (int trial = 0; trial < 200; ++trial) {
        const size_t count = 1 + random() % 100;
        std::vector<float> gate(count), up(count);
        for (size_t i = 0; i < count; ++i) {
          // Any bits at all, or of a size that does something.
          gate[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
          up[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
          if (random() % 2 == 0) gate[i] = static_cast<float>(random()) * 0x1p-26f - 32.0f;
        }
        std::vector<float> expected(count), got(count);
        KernelsOf(Isa::kScalar)
            .activate(conventions, gate.data(), up.data(), static_cast<uint32_t>(count),
                      expected.data());
        KernelsOf(isa).activate(conventions, gate.data(), up.data(), static_cast<uint32_t>(count),
                                got.data());
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(expected[i]))
              << ActivationName(activation) << " " << IsaName(isa) << " of " << gate[i] << ", "
              << up[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace berth::kernels
