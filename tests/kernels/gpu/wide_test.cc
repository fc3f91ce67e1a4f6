// Units of many pairs on the emulated card: against the result in double precision, and bit by bit
// against each other however they are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "kernels/gpu/expert_launch.h"
#include "kernels/gpu/formats/card_formats.h"
#include "tests/kernels/gpu/card_step.h"

namespace berth::kernels::gpu {

using kernels::testing::DecodedUnit;
using kernels::testing::Fused;
using testing::CardStep;
using testing::Layer;
using testing::LayerOptions;
using testing::Outputs;
using testing::Same;

namespace {

constexpr uint32_t kTopK = 2;
constexpr uint32_t kExactRows = 8;

// A step in which expert e has counts[e] pairs, of rows all over it.
CardStep StepOf(const Layer& layer, const std::vector<uint32_t>& counts) {
  uint32_t pairs = 0;
  for (const uint32_t count : counts) pairs += count;
  const uint32_t rows = std::max((pairs + kTopK) / kTopK, kExactRows + 1);
  CardStep step(layer, rows, kTopK);
  step.exact_rows = kExactRows;
  step.ids.assign(uint64_t{rows} * kTopK, kNoExpert);
  // No step of 7 or 11 meets a pair twice.
  const auto total = static_cast<uint32_t>(step.ids.size());
  const uint32_t stride = total % 7 != 0 ? 7 : 11;
  uint32_t at = 1;
  for (uint32_t expert = 0; expert < counts.size(); ++expert) {
    for (uint32_t i = 0; i < counts[expert]; ++i) {
      step.ids[at % total] = static_cast<int32_t>(expert);
      at += stride;
    }
  }
  return step;
}

// What the error of outputs is to be held against.
struct Errors {
  double squares = 0, error_squares = 0, largest = 0, largest_error = 0;
  bool finite = true;

  void Add(double want, double got) {
    finite = finite && std::isfinite(got);
    squares += want * want;
    error_squares += (got - want) * (got - want);
    largest = std::max(largest, std::abs(want));
    largest_error = std::max(largest_error, std::abs(got - want));
  }
  double rms() const { return std::sqrt(error_squares / squares); }
};

// Pairs of wide units against double precision, the others against the host's bits.
void ExpectRight(const Layer& layer, CardStep* step, const std::vector<uint32_t>& counts) {
  const Outputs got = step->RunCard();
  EXPECT_EQ(step->failed_unit, 0u);
  const uint32_t hidden = layer.spec.hidden;
  const std::vector<int32_t> ids = step->ids;
  for (int32_t& id : step->ids) {
    if (id >= 0 && counts[id] > kExactRows) id = kNoExpert;
  }
  const Outputs exact = step->RunHost();
  step->ids = ids;
  std::vector<DecodedUnit> units;
  for (const auto& unit : layer.units) units.emplace_back(layer.spec, unit.data());
  Errors errors;
  for (uint32_t pair = 0; pair < step->ids.size(); ++pair) {
    const int32_t id = step->ids[pair];
    if (id < 0) continue;
    const float* const from = got.partials.data() + uint64_t{pair} * hidden;
    if (counts[id] <= kExactRows) {
      EXPECT_EQ(std::memcmp(from, exact.partials.data() + uint64_t{pair} * hidden,
                            hidden * sizeof(float)),
                0)
          << "pair " << pair;
      continue;
    }
    const std::span<const float> x(step->x.data() + uint64_t{pair / kTopK} * hidden, hidden);
    const std::vector<double> want = kernels::testing::ReferenceExpert(
        layer.spec, units[id], static_cast<uint32_t>(id), x, step->weights[pair]);
    for (uint32_t i = 0; i < hidden; ++i) errors.Add(want[i], from[i]);
  }
  EXPECT_TRUE(errors.finite);
  EXPECT_GT(errors.largest_error, 0);
  EXPECT_LT(errors.rms(), 0.006);
  EXPECT_LT(errors.largest_error, 0.01 * errors.largest);
  // What is summed is what the partials are.
  Outputs sums = got;
  step->Reduce(&sums);
  EXPECT_TRUE(Same(sums.y, got.y));
}

LayerOptions Small(TensorType gate_up, TensorType down) {
  LayerOptions options;
  options.gate_up_type = gate_up;
  options.down_type = down;
  options.hidden = 256;
  options.ffn = 256;
  options.experts = 3;
  return options;
}

constexpr Activation kActivations[] = {Activation::kSiluGate, Activation::kGeluGate,
                                       Activation::kClampedGate, Activation::kReluGate,
                                       Activation::kSquaredRelu};

class EveryTunedType : public ::testing::TestWithParam<TensorType> {};

TEST_P(EveryTunedType, IsRight) {
  const auto turn = static_cast<uint32_t>(GetParam());
  LayerOptions options = Small(GetParam(), GetParam());
  options.hidden = 512;
  options.conventions.activation = kActivations[turn % 5];
  options.conventions.weights_before = turn % 7 == 0;
  options.fused = static_cast<Fused>(turn % 3);
  options.bias = turn % 2 == 0;
  options.scale = turn / 2 % 2 == 0;
  const Layer layer(options);
  const std::vector<uint32_t> counts = {8, 17, 9};
  CardStep step = StepOf(layer, counts);
  ExpectRight(layer, &step, counts);
}

std::vector<TensorType> TunedTypes() {
  std::vector<TensorType> types;
#define BERTH_TEST_TYPE(name, Decoder) types.push_back(TensorType::name);
  BERTH_FOR_EACH_TUNED_CARD_FORMAT(BERTH_TEST_TYPE)
#undef BERTH_TEST_TYPE
  return types;
}
INSTANTIATE_TEST_SUITE_P(GpuWide, EveryTunedType, ::testing::ValuesIn(TunedTypes()),
                         [](const auto& info) {
                           return std::string(FindFormat(info.param)->name);
                         });

void ExpectRight(const LayerOptions& options, const std::vector<uint32_t>& counts) {
  const Layer layer(options);
  CardStep step = StepOf(layer, counts);
  ExpectRight(layer, &step, counts);
}

TEST(GpuWide, EveryActivationGatedAndNot) {
  for (const Activation activation : kActivations) {
    for (const Fused fused : {Fused::kNo, Fused::kUpFirst}) {
      LayerOptions options = Small(TensorType::kQ8_0, TensorType::kQ4_0);
      options.hidden = 128;
      options.ffn = 96;
      options.conventions.activation = activation;
      options.conventions.limit = 0.25f;
      options.fused = fused;
      options.bias = true;
      SCOPED_TRACE(ActivationName(activation));
      ExpectRight(options, {3, 12});
    }
  }
}

// Columns and rows that are no multiple of a step, a stage or a tile.
TEST(GpuWide, OddShapes) {
  for (const TensorType type :
       {TensorType::kQ8_0, TensorType::kIQ4_NL, TensorType::kMXFP4, TensorType::kNVFP4}) {
    for (const uint32_t blocks : {1, 3, 9}) {
      const uint32_t block = FindFormat(type)->block_elements;
      LayerOptions options = Small(type, type);
      options.hidden = blocks * block;
      options.ffn = (10 - blocks) * block;
      SCOPED_TRACE(std::string(FindFormat(type)->name) + ", blocks " + std::to_string(blocks));
      ExpectRight(options, {10, 0, 1});
      ExpectRight(options, {10, 35, 1});
    }
  }
  LayerOptions options = Small(TensorType::kIQ3_S, TensorType::kQ6_K);
  options.hidden = 768;
  ExpectRight(options, {10, 0, 1});
  ExpectRight(options, {10, 35, 1});
}

TEST(GpuWide, ManyPairs) {
  const LayerOptions options = Small(TensorType::kQ4_0, TensorType::kIQ4_NL);
  ExpectRight(options, {33, 80, 130});
  ExpectRight(options, {128, 140, 127});  // units that are compared, not counted (work_list.h)
  ExpectRight(options, {32, 25, 24});
}

// Units that are not wide: a share has more of their pairs than local rows.
TEST(GpuWide, ManyUnitsOfFewPairs) {
  const std::vector<uint32_t> counts = {9, 8, 3, 7, 0, 8, 1, 8, 8, 6, 2, 8};
  for (const TensorType type : {TensorType::kIQ3_S, TensorType::kQ4_0}) {
    LayerOptions options = Small(type, TensorType::kQ4_0);
    options.experts = static_cast<uint32_t>(counts.size());
    const Layer layer(options);
    for (const uint32_t processors : {1u, 2u}) {
      CardStep step = StepOf(layer, counts);
      step.processors = processors;
      SCOPED_TRACE(processors);
      ExpectRight(layer, &step, counts);
    }
  }
}

// A matrix without such a kernel in front or behind takes or gives floats.
TEST(GpuWide, BesideThePlainKernel) {
  for (const bool plain_down : {false, true}) {
    LayerOptions options = Small(plain_down ? TensorType::kQ8_0 : TensorType::kF16,
                                 plain_down ? TensorType::kBF16 : TensorType::kQ8_0);
    options.ffn = 96;
    SCOPED_TRACE(plain_down);
    ExpectRight(options, {9, 20, 4});
  }
}

TEST(GpuWide, BitsDoNotDependOnHowItIsCut) {
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kIQ3_S, TensorType::kQ4_K}) {
    LayerOptions options = Small(type, type);
    options.bias = true;
    const Layer layer(options);
    CardStep step = StepOf(layer, {24, 5, 12});
    const Outputs want = step.RunCard();
    const auto expect_same = [&](const char* what, uint32_t value, bool wave = false) {
      const Outputs got = step.RunCard(wave);
      EXPECT_TRUE(Same(got.partials, want.partials)) << what << " " << value;
      EXPECT_TRUE(Same(got.y, want.y)) << what << " " << value;
    };
    SCOPED_TRACE(FindFormat(type)->name);
    expect_same("wave", 1, true);
    for (const uint32_t pairs : {16u, 48u, 64u}) {
      step.dispatch.wide_pairs = pairs;
      expect_same("pairs at a time", pairs);
    }
    for (const uint32_t processors : {1u, 7u}) {
      step.processors = processors;
      expect_same("processors", processors);
    }
    for (const uint32_t misalignment : {2u, 7u}) {
      step.misalignment = misalignment;
      expect_same("misalignment", misalignment);
    }
    step.input_offset = 3;
    expect_same("input offset", step.input_offset);
  }
}

// The same pairs alone in a step.
TEST(GpuWide, BitsDoNotDependOnCompany) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step = StepOf(layer, {20, 31, 7});
  const Outputs want = step.RunCard();
  for (int32_t& id : step.ids) id = id == 0 ? id : kNoExpert;
  const Outputs got = step.RunCard();
  for (uint32_t pair = 0; pair < step.ids.size(); ++pair) {
    if (step.ids[pair] != 0) continue;
    const uint64_t at = uint64_t{pair} * layer.spec.hidden;
    EXPECT_EQ(std::memcmp(&got.partials[at], &want.partials[at], layer.spec.hidden * sizeof(float)),
              0);
  }
}

TEST(GpuWide, AUnitWithoutAnAddressIsReported) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step = StepOf(layer, {20, 31, 7});
  const Outputs want = step.RunCard();
  step.missing = {1};
  step.RunCard();
  EXPECT_NE(step.failed_unit, 0u);
  step.failed_unit = 0;
  step.missing.clear();
  EXPECT_TRUE(Same(step.RunCard().y, want.y));
}

// What lay in the workspace before is not seen: values that are no numbers, of a wider layer.
TEST(GpuWide, ColumnsBehindTheLastAreNoNumbers) {
  LayerOptions options = Small(TensorType::kQ8_0, TensorType::kQ8_0);
  options.hidden = 96;
  options.ffn = 160;
  const Layer layer(options);
  CardStep step = StepOf(layer, {20});
  const Outputs want = step.RunCard();
  step.SpoilWorkspace();
  EXPECT_TRUE(Same(step.RunCard().y, want.y));
}

// What compares bits must see one.
TEST(GpuWide, AFlippedBitShows) {
  Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step = StepOf(layer, {20});
  const Outputs want = step.RunCard();
  layer.units[0][layer.spec.down.offset + 5] ^= std::byte{0x10};
  EXPECT_FALSE(Same(step.RunCard().y, want.y));
}

}  // namespace
}  // namespace berth::kernels::gpu
