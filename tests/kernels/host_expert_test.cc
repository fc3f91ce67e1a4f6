// The grouped expert call on the host against double precision, and what it promises about bits.
#include "kernels/expert/host_expert.h"

#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "kernels/host/worker_pool.h"
#include "tests/kernels/expert_model.h"
#include "tests/new_counter.h"

namespace berth::kernels {

using testing::Fused;
using testing::Grouping;
using testing::kActivations;
using testing::Layer;
using testing::LayerOptions;
using testing::Same;
using testing::TestPool;

namespace {

const HostMath kF32 = {{ArithmeticMode::kF32}, BestIsa()};
const HostMath kWide = {{ArithmeticMode::kExact, 0}, BestIsa()};
const HostMath kExact = {{ArithmeticMode::kExact, kMostExactRows}, BestIsa()};

// A step of `rows` rows.
struct Step : testing::RoutedRows {
  Step(const Layer& layer, uint32_t rows, uint32_t top_k)
      : RoutedRows(layer, rows, top_k), rows(rows), top_k(top_k) {}
  std::vector<float> Poison(const Layer& layer) const {
    return std::vector<float>(uint64_t{rows} * top_k * layer.spec.hidden,
                              std::numeric_limits<float>::quiet_NaN());
  }
  GroupedCall Call(const Layer& layer, const Grouping& grouping, float* partials) const {
    GroupedCall call;
    call.spec = &layer.spec;
    call.units = grouping.units.data();
    call.unit_count = static_cast<uint32_t>(grouping.units.size());
    call.pairs = grouping.pairs.data();
    call.top_k = top_k;
    call.x = x.data();
    call.weights = weights.data();
    call.partials = partials;
    return call;
  }
  std::vector<float> Run(const Layer& layer, uint32_t threads, const HostMath& math = kF32) const {
    TestPool pool(threads);
    return RunOn(&pool, layer, math);
  }
  std::vector<float> RunOn(WorkerPool* pool, const Layer& layer, const HostMath& math) const {
    HostExpertWorkspace workspace(pool, layer.spec.hidden, layer.spec.ffn, rows * top_k, math);
    std::vector<float> partials = Poison(layer);
    const Grouping grouping = testing::GroupBackwards(ids, layer);
    const Status ran = workspace.Run(Call(layer, grouping, partials.data()), grouping.addresses);
    EXPECT_TRUE(ran.ok()) << ran.message();
    return partials;
  }

  uint32_t rows, top_k;
};

struct Error {
  double relative = 0;  // of the largest output
  size_t inexact = 0;   // outputs that are not exactly the reference
};

Error Compare(const Layer& layer, const Step& step, const std::vector<float>& partials) {
  const uint32_t hidden = layer.spec.hidden;
  double largest = 0;
  double worst = 0;
  Error error;
  std::map<uint32_t, testing::DecodedUnit> decoded;
  for (size_t pair = 0; pair < step.ids.size(); ++pair) {
    const float* got = partials.data() + pair * hidden;
    if (step.ids[pair] < 0) {
      EXPECT_TRUE(std::all_of(got, got + hidden, [](float v) { return std::isnan(v); }));
      continue;
    }
    const auto expert = static_cast<uint32_t>(step.ids[pair]);
    const std::span<const float> x(step.x.data() + pair / step.top_k * hidden, hidden);
    if (!decoded.contains(expert)) {
      decoded[expert] = testing::DecodedUnit(layer.spec, layer.units[expert].data());
    }
    const std::vector<double> want =
        testing::ReferenceExpert(layer.spec, decoded[expert], expert, x, step.weights[pair]);
    for (uint32_t i = 0; i < hidden; ++i) {
      largest = std::max(largest, std::abs(want[i]));
      const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
      // A NaN must not slip through a maximum.
      worst = difference <= worst ? worst : difference;
      error.inexact += difference != 0 ? 1 : 0;
    }
  }
  EXPECT_GT(largest, 1e-3);
  error.relative = worst / largest;
  return error;
}

void ExpectRight(const LayerOptions& options, uint32_t rows, uint32_t top_k) {
  const Layer layer(options);
  const Step step(layer, rows, top_k);
  for (HostMath math : {kF32, kWide, kExact}) {
    const std::vector<float> partials = step.Run(layer, 1, math);
    const Error error = Compare(layer, step, partials);
    const bool eight_bits = math.arithmetic.exact_rows == kMostExactRows;
    // Of 8-bit activations; where there are no others than F16 or BF16 weights, none are in 8 bits.
    EXPECT_LT(error.relative, eight_bits ? 2e-2 : 1e-5) << ArithmeticName(math.arithmetic);
    // An error of exactly zero would mean that the reference was compared with itself.
    EXPECT_GT(error.inexact, 0u) << ArithmeticName(math.arithmetic);
    if (math.arithmetic.mode == ArithmeticMode::kF32) continue;
    for (const Isa isa : UsableIsas()) {
      math.isa = isa;
      EXPECT_TRUE(Same(step.Run(layer, 1, math), partials))
          << ArithmeticName(math.arithmetic) << " " << IsaName(isa);
    }
  }
}

class EveryType : public ::testing::TestWithParam<TensorType> {};

TEST_P(EveryType, EqualsDoublePrecisionUnderEveryActivation) {
  constexpr uint32_t kRows[] = {1, 2, 3, 9};
  uint32_t turn = static_cast<uint32_t>(GetParam());
  for (Activation activation : kActivations) {
    LayerOptions options;
    options.gate_up_type = GetParam();
    options.down_type = GetParam();
    options.conventions.activation = activation;
    options.fused = static_cast<Fused>(turn % 3);
    options.bias = turn % 2 == 0;
    options.scale = turn / 2 % 2 == 0;
    SCOPED_TRACE(std::string(ActivationName(activation)) + ", turn " + std::to_string(turn));
    ExpectRight(options, kRows[turn % 4], 2);
    ++turn;
  }
}

std::vector<TensorType> AllTypes() {
  std::vector<TensorType> types;
  for (const Format& format : Formats()) types.push_back(format.type);
  return types;
}
INSTANTIATE_TEST_SUITE_P(HostExpert, EveryType, ::testing::ValuesIn(AllTypes()),
                         [](const auto& info) {
                           return std::string(FindFormat(info.param)->name);
                         });

TEST(HostExpert, EqualsDoublePrecisionUnderEveryConvention) {
  for (Activation activation : kActivations) {
    for (Fused fused : {Fused::kNo, Fused::kGateFirst, Fused::kUpFirst}) {
      for (uint32_t siblings = 0; siblings < 4; ++siblings) {
        for (uint32_t rows : {1, 2, 3, 9}) {
          LayerOptions options;
          options.hidden = 64;
          options.ffn = 96;
          options.down_type = TensorType::kQ4_0;
          options.conventions.activation = activation;
          options.fused = fused;
          options.bias = (siblings & 1) != 0;
          options.scale = (siblings & 2) != 0;
          ExpectRight(options, rows, 3);
        }
      }
    }
  }
}

// Gate and up read from each other's place must not pass for right.
TEST(HostExpert, TheHalvesOfAFusedTensorAreNotInterchangeable) {
  LayerOptions options;
  options.fused = Fused::kGateFirst;
  Layer layer(options);
  const Step step(layer, 2, 2);
  std::swap(layer.spec.gate.offset, layer.spec.up.offset);
  const std::vector<float> swapped = step.Run(layer, 1);
  std::swap(layer.spec.gate.offset, layer.spec.up.offset);
  EXPECT_GT(Compare(layer, step, swapped).relative, 1e-2);
}

TEST(HostExpert, WeightsBeforeScaleTheInput) {
  LayerOptions options;
  options.conventions.weights_before = true;
  options.bias = true;
  ExpectRight(options, 4, 1);
  ExpectRight(options, 3, 2);
}

// Rows of 288 and 320 in MXFP4 with biases: strides that are no multiple of 4096, gates and ups
// beyond the limit.
TEST(HostExpert, ClampedGateBeyondItsLimits) {
  LayerOptions options;
  options.gate_up_type = TensorType::kMXFP4;
  options.down_type = TensorType::kMXFP4;
  options.hidden = 288;
  options.ffn = 320;
  options.experts = 8;
  options.conventions.activation = Activation::kClampedGate;
  options.bias = true;
  ExpectRight(options, 9, 4);
  options.conventions.limit = 0.25f;
  options.conventions.alpha = 0.9f;
  ExpectRight(options, 3, 4);
}

// Rows of F16 need not be multiples of anything.
TEST(HostExpert, OddWidths) {
  for (uint32_t width : {1u, 15u, 17u, 33u, 77u}) {
    LayerOptions options;
    options.gate_up_type = TensorType::kF16;
    options.down_type = TensorType::kBF16;
    options.hidden = width + 16;
    options.ffn = width;
    options.bias = true;
    ExpectRight(options, 2, 2);
  }
}

TEST(HostExpert, BitsDoNotDependOnThreadsOrCompany) {
  const std::pair<TensorType, HostMath> kCases[] = {
      {TensorType::kIQ3_S, kF32}, {TensorType::kQ2_0, kExact}, {TensorType::kMXFP4, kWide}};
  for (const auto& [type, math] : kCases) {
    LayerOptions options;
    options.gate_up_type = type;
    options.down_type = TensorType::kIQ4_NL;
    options.hidden = 512;
    options.bias = true;
    const Layer layer(options);
    const Step step(layer, 9, 2);
    const std::vector<float> together = step.Run(layer, 1, math);
    EXPECT_TRUE(Same(together, step.Run(layer, 3, math)));
    // Each pair on its own, from last to first.
    TestPool pool(2);
    HostExpertWorkspace workspace(&pool, 512, 256, 1, math);
    std::vector<float> alone = step.Poison(layer);
    for (size_t pair = step.ids.size(); pair-- > 0;) {
      if (step.ids[pair] < 0) continue;
      const auto expert = static_cast<uint32_t>(step.ids[pair]);
      Grouping one;
      one.units = {{.unit = expert, .expert = expert, .first_pair = 0, .pair_count = 1}};
      one.pairs = {static_cast<uint32_t>(pair)};
      one.addresses = {layer.units[expert].data()};
      ASSERT_TRUE(workspace.Run(step.Call(layer, one, alone.data()), one.addresses).ok());
    }
    EXPECT_TRUE(Same(together, alone));
    // The comparison can fail.
    uint32_t bits = 0;
    std::memcpy(&bits, &alone[5], sizeof(bits));
    bits ^= 1;
    std::memcpy(&alone[5], &bits, sizeof(bits));
    EXPECT_FALSE(Same(together, alone));
  }
}

// A wave names only some of the step's pairs: the others' partials stay as they are.
TEST(HostExpert, WritesOnlyThePairsOfTheWave) {
  const Layer layer(LayerOptions{});
  const Step step(layer, 5, 2);
  const std::vector<float> whole = step.Run(layer, 1);
  const Grouping grouping = testing::GroupBackwards(step.ids, layer);
  TestPool pool(1);
  HostExpertWorkspace workspace(&pool, 256, 256, 10, kF32);
  std::vector<float> partials = step.Poison(layer);
  GroupedCall call = step.Call(layer, grouping, partials.data());
  call.units = grouping.units.data() + 1;
  call.unit_count = 2;
  ASSERT_TRUE(workspace.Run(call, std::span(grouping.addresses).subspan(1, 2)).ok());
  size_t written = 0;
  for (size_t pair = 0; pair < step.ids.size(); ++pair) {
    const bool in_wave = step.ids[pair] == static_cast<int32_t>(grouping.units[1].expert) ||
                         step.ids[pair] == static_cast<int32_t>(grouping.units[2].expert);
    for (uint32_t i = 0; i < 256; ++i) {
      const size_t at = pair * 256 + i;
      ASSERT_EQ(std::isnan(partials[at]), !in_wave);
      if (!in_wave) continue;
      ASSERT_EQ(partials[at], whole[at]);
    }
    written += in_wave ? 1 : 0;
  }
  EXPECT_GT(written, 0u);
  EXPECT_LT(written, step.ids.size());
}

TEST(HostExpert, AnEmptyCallDoesNothing) {
  const Layer layer(LayerOptions{});
  const Step step(layer, 0, 2);
  EXPECT_TRUE(step.Run(layer, 2).empty());
}

TEST(HostExpert, AllocatesAtConstructionOnly) {
  LayerOptions options;
  options.gate_up_type = TensorType::kIQ2_S;
  const Layer layer(options);
  const Step step(layer, 9, 2);
  const Grouping grouping = testing::GroupBackwards(step.ids, layer);
  std::vector<float> partials = step.Poison(layer);
  TestPool pool(1);
  for (const HostMath& math : {kF32, HostMath(), kWide}) {
    const uint64_t before = berth::NewCalls();
    HostExpertWorkspace workspace(&pool, 256, 256, 18, math);
    const uint64_t made = berth::NewCalls();
    EXPECT_GT(made, before);  // the counter counts
    EXPECT_GE(workspace.bytes(), 18u * 256 * sizeof(float));
    const Status ran =
        workspace.Run(step.Call(layer, grouping, partials.data()), grouping.addresses);
    EXPECT_EQ(berth::NewCalls(), made);
    EXPECT_TRUE(ran.ok());
  }
}

// More pairs than a batch holds, of units on either side of the limit.
TEST(HostExpert, ManyRowsGoInBatches) {
  LayerOptions options;
  options.hidden = 64;
  options.ffn = 32;
  options.experts = 3;
  const Layer layer(options);
  Step step(layer, 1500, 1);
  for (uint32_t row = 0; row < 1500; ++row) step.ids[row] = row % 300 == 7 ? 1 : row % 2 * 2;
  const std::vector<float> exact = step.Run(layer, 2, kExact);
  const std::vector<float> wide = step.Run(layer, 2, kWide);
  const std::vector<float> mixed = step.Run(layer, 2, HostMath());
  EXPECT_LT(Compare(layer, step, wide).relative, 1e-5);
  // Five rows of expert 1 are few enough, those of the others are not.
  for (uint32_t row = 0; row < 1500; ++row) {
    const std::vector<float>& expected = step.ids[row] == 1 ? exact : wide;
    ASSERT_EQ(std::memcmp(&mixed[row * 64], &expected[row * 64], 64 * sizeof(float)), 0) << row;
  }
  EXPECT_FALSE(Same(exact, wide));
}

TEST(HostExpert, TheCallersFloatEnvironmentDoesNotMatterAndComesBack) {
  LayerOptions options;
  options.gate_up_type = TensorType::kQ4_K;
  const Layer layer(options);
  Step step(layer, 3, 2);
  // Small enough that denormals come up on the way, and large enough that something is left.
  for (float& x : step.x) x *= 0x1p-62f;
  // Flush to zero, denormals are zero, round up.
  constexpr unsigned kOther = 0x1f80 | 0x8000 | 0x0040 | 0x4000;
  for (const Isa isa : UsableIsas()) {
    for (HostMath math : {kF32, kExact, kWide}) {
      math.isa = isa;
      const std::vector<float> expected = step.Run(layer, 1, math);
      EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](float v) {
        return v != 0 && std::fpclassify(v) == FP_SUBNORMAL;
      }));
      for (const uint32_t threads : {1u, 3u}) {
        const unsigned before = _mm_getcsr();
        _mm_setcsr(kOther);
        // Threads begin in the mode of who makes them.
        const std::unique_ptr<WorkerPool> pool = MakeThreadWorkerPool(threads);
        const std::vector<float> got = step.RunOn(pool.get(), layer, math);
        const unsigned after = _mm_getcsr() & ~0x3fu;
        _mm_setcsr(before);
        EXPECT_EQ(after, kOther);
        EXPECT_TRUE(Same(got, expected))
            << ArithmeticName(math.arithmetic) << " " << IsaName(isa) << " " << threads;
      }
    }
  }
}

// Products that are infinite under a scale of zero: what comes of it has a sign on some processors.
TEST(HostExpert, WhatIsNoNumberIsTheOneQuietNan) {
  LayerOptions options;
  options.gate_up_type = options.down_type = TensorType::kBF16;
  options.hidden = 40;
  options.ffn = 8;
  options.conventions.activation = Activation::kReluGate;
  Layer layer(options);
  for (std::vector<std::byte>& unit : layer.units) {
    for (size_t i = 0; i < unit.size(); i += 2) {
      const uint16_t large = 0x7f00;  // 1.7e38
      std::memcpy(&unit[i], &large, sizeof(large));
    }
  }
  layer.spec.down_sibling.scale.assign(layer.spec.experts, 0.0f);
  Step step(layer, 3, 2);
  std::fill(step.x.begin(), step.x.end(), 1.0f);
  for (HostMath math : {kF32, kExact, kWide}) {
    for (const Isa isa : UsableIsas()) {
      math.isa = isa;
      const std::vector<float> partials = step.Run(layer, 1, math);
      for (size_t i = 0; i < partials.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(partials[i]), 0x7fc00000u)
            << ArithmeticName(math.arithmetic) << " " << IsaName(isa) << " result " << i;
      }
    }
  }
}

TEST(HostExpert, AnInputThatIsNotFiniteIsRefusedAndNothingIsWritten) {
  const Layer layer(LayerOptions{});
  Step step(layer, 3, 2);
  step.x[256 + 77] = std::numeric_limits<float>::infinity();
  const Grouping grouping = testing::GroupBackwards(step.ids, layer);
  TestPool pool(1);
  for (const HostMath& math : {kF32, kExact, kWide}) {
    HostExpertWorkspace workspace(&pool, 256, 256, 6, math);
    std::vector<float> partials = step.Poison(layer);
    const Status ran =
        workspace.Run(step.Call(layer, grouping, partials.data()), grouping.addresses);
    EXPECT_EQ(ran.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(ran.message().find("row 1, column 77"), std::string::npos) << ran.message();
    EXPECT_TRUE(
        std::all_of(partials.begin(), partials.end(), [](float v) { return std::isnan(v); }));
  }
}

}  // namespace
}  // namespace berth::kernels
