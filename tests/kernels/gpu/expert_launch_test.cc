// The grouped call on the emulated card against the host's reference, bit by bit.
#include "kernels/gpu/expert_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "kernels/gpu/formats/card_formats.h"
#include "tests/kernels/gpu/card_step.h"

namespace berth::kernels::gpu {

using kernels::testing::Fused;
using kernels::testing::kActivations;
using testing::CardStep;
using testing::Layer;
using testing::LayerOptions;
using testing::Outputs;
using testing::Same;

namespace {

void ExpectHostsBits(CardStep* step) {
  const Outputs want = step->RunHost();
  // One after the other in the same workspace: counters are as they were.
  enum class Run { kDots, kWave, kMatrices };
  for (const Run run : {Run::kDots, Run::kWave, Run::kMatrices}) {
    step->dispatch.matrix_pairs = run == Run::kMatrices ? 0 : UINT32_MAX;
    const Outputs got = step->RunCard(run == Run::kWave);
    EXPECT_TRUE(Same(got.partials, want.partials)) << "run " << static_cast<int>(run);
    EXPECT_TRUE(Same(got.y, want.y)) << "run " << static_cast<int>(run);
  }
  EXPECT_EQ(step->failed_unit, 0u);
}

class EveryType : public ::testing::TestWithParam<TensorType> {};

TEST_P(EveryType, GivesTheHostsBits) {
  const uint32_t block = FindFormat(GetParam())->block_elements;
  auto turn = static_cast<uint32_t>(GetParam());
  // Units of 1, 2, 3 and 8 or 9 pairs.
  for (const uint32_t rows : {1, 4, 6, 17}) {
    LayerOptions options;
    options.gate_up_type = GetParam();
    options.down_type = GetParam();
    options.hidden = std::max(2 * block, 128u);
    options.ffn = std::max(block, 64u);
    options.experts = 4;
    options.conventions.activation = kActivations[turn % 5];
    options.fused = static_cast<Fused>(turn % 3);
    options.bias = turn % 2 == 0;
    options.scale = turn / 2 % 2 == 0;
    const Layer layer(options);
    CardStep step(layer, rows, 2);
    SCOPED_TRACE("rows " + std::to_string(rows) + ", turn " + std::to_string(turn));
    ExpectHostsBits(&step);
    ++turn;
  }
}

std::vector<TensorType> AllTypes() {
  std::vector<TensorType> types;
#define BERTH_TEST_TYPE(name, Decoder) types.push_back(TensorType::name);
  BERTH_FOR_EACH_CARD_FORMAT(BERTH_TEST_TYPE)
#undef BERTH_TEST_TYPE
  types.push_back(TensorType::kF16);
  types.push_back(TensorType::kBF16);
  return types;
}
INSTANTIATE_TEST_SUITE_P(GpuExpert, EveryType, ::testing::ValuesIn(AllTypes()),
                         [](const auto& info) {
                           return std::string(FindFormat(info.param)->name);
                         });

LayerOptions Small(TensorType gate_up, TensorType down) {
  LayerOptions options;
  options.gate_up_type = gate_up;
  options.down_type = down;
  options.hidden = 256;
  options.ffn = 128;
  options.experts = 4;
  options.bias = true;
  options.scale = true;
  return options;
}

void ExpectHostsBits(const LayerOptions& options, uint32_t rows, uint32_t top_k) {
  const Layer layer(options);
  CardStep step(layer, rows, top_k);
  ExpectHostsBits(&step);
}

TEST(GpuExpert, EveryActivationGatedAndNot) {
  for (const Activation activation : kActivations) {
    for (const Fused fused : {Fused::kNo, Fused::kGateFirst, Fused::kUpFirst}) {
      LayerOptions options = Small(TensorType::kQ8_0, TensorType::kQ4_0);
      options.conventions.activation = activation;
      options.conventions.limit = 0.25f;
      options.fused = fused;
      SCOPED_TRACE(ActivationName(activation));
      ExpectHostsBits(options, 3, 2);
    }
  }
}

TEST(GpuExpert, WeightsBeforeScaleTheInput) {
  LayerOptions options = Small(TensorType::kQ8_0, TensorType::kQ4_0);
  options.conventions.weights_before = true;
  ExpectHostsBits(options, 3, 2);
}

// Rows of an odd number of blocks, of blocks whose alignment alternates from row to row, of half a
// group; outputs that are no multiple of a tile.
TEST(GpuExpert, OddShapes) {
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kIQ4_NL, TensorType::kNVFP4}) {
    for (const uint32_t blocks : {1, 5, 8}) {
      const uint32_t block = FindFormat(type)->block_elements;
      LayerOptions options = Small(type, type);
      options.hidden = blocks * block;
      options.ffn = (9 - blocks) * block;
      SCOPED_TRACE(std::string(FindFormat(type)->name) + ", blocks " + std::to_string(blocks));
      ExpectHostsBits(options, 5, 2);
    }
  }
  for (const TensorType type : {TensorType::kIQ3_S, TensorType::kQ4_K, TensorType::kQ6_K}) {
    for (const uint32_t groups : {1, 2}) {
      LayerOptions options = Small(type, type);
      options.hidden = groups * 256;
      options.ffn = (3 - groups) * 256;
      SCOPED_TRACE(std::string(FindFormat(type)->name) + ", groups " + std::to_string(groups));
      ExpectHostsBits(options, 3, 2);
    }
  }
  for (const uint32_t width : {1u, 15u, 33u, 77u}) {
    LayerOptions options = Small(TensorType::kF16, TensorType::kBF16);
    options.hidden = width + 16;
    options.ffn = width;
    SCOPED_TRACE("width " + std::to_string(width));
    ExpectHostsBits(options, 2, 2);
  }
  // Floats behind bytes: what goes into down is not put into 8 bits.
  LayerOptions options = Small(TensorType::kQ8_0, TensorType::kF16);
  options.ffn = 37;
  ExpectHostsBits(options, 3, 2);
}

TEST(GpuExpert, UnitsAnywhere) {
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kQ4_K, TensorType::kIQ3_S}) {
    LayerOptions options = Small(type, type);
    options.hidden = 256;
    options.ffn = 256;
    const Layer layer(options);
    for (const uint32_t misalignment : {1u, 2u, 4u, 16u}) {
      CardStep step(layer, 3, 2);
      step.misalignment = misalignment;
      SCOPED_TRACE(std::string(FindFormat(type)->name) + ", " + std::to_string(misalignment));
      ExpectHostsBits(&step);
    }
  }
}

// More pairs than are compared with each other.
TEST(GpuExpert, ManyPairs) {
  LayerOptions options = Small(TensorType::kQ8_0, TensorType::kQ8_0);
  options.hidden = 32;
  options.ffn = 32;
  options.experts = 7;
  ExpectHostsBits(options, 60, 5);
}

TEST(GpuExpert, PlainKernelGivesTheSameBits) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step(layer, 9, 2);
  step.dispatch.tuned = false;
  ExpectHostsBits(&step);
}

uint64_t LaunchesOf(const KernelLaunches& ran, KernelKind kind) {
  switch (kind) {
    case KernelKind::kPlain:
      return ran.plain;
    case KernelKind::kDots:
      return ran.dots;
    case KernelKind::kMatrices:
      return ran.matrices;
    default:
      return ran.wide;
  }
}

// Whatever is offered for a call runs, and gives the bits of what runs unasked, which is the first;
// whatever is not offered changes nothing.
TEST(GpuExpert, KernelsToChooseFromGiveTheSameBits) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  for (const uint32_t rows : {4u, 20u}) {
    CardStep step(layer, rows, 2);
    step.exact_rows = 4;
    step.processors = 1;
    ExpertLauncher launcher;
    launcher.arithmetic.exact_rows = step.exact_rows;
    launcher.processors = step.processors;
    const std::vector<KernelChoice> offered = ExpertKernels(launcher, layer.spec, rows, 2);
    ASSERT_GE(offered.size(), 2u);
    const Outputs want = step.RunCard();
    EXPECT_EQ(LaunchesOf(step.ran, offered[0].kind), 2u) << rows;
    std::vector<KernelChoice> all = offered;
    all.push_back({KernelKind::kPlain});
    all.push_back({KernelKind::kMatrices});
    all.push_back({KernelKind::kWide, 16});
    all.push_back({KernelKind::kWide, 7});
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + all[i].ToString());
      step.kernel = all[i];
      step.ran = KernelLaunches();
      for (const bool wave : {false, true}) {
        const Outputs got = step.RunCard(wave);
        EXPECT_TRUE(Same(got.partials, want.partials));
        EXPECT_TRUE(Same(got.y, want.y));
      }
      if (i < offered.size()) {
        EXPECT_EQ(LaunchesOf(step.ran, all[i].kind), 4u);
      }
    }
  }
}

TEST(GpuExpert, RowsOfNobodyAreZero) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step(layer, 3, 2);
  step.ids = {kNoExpert, kNoExpert, 1, kNoExpert, kNoExpert, kNoExpert};
  ExpectHostsBits(&step);
  step.ids.assign(6, kNoExpert);
  ExpectHostsBits(&step);
}

// An expert twice in a row is a unit with two pairs of one row.
TEST(GpuExpert, AnExpertTwiceInARow) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step(layer, 2, 2);
  step.ids = {1, 1, 2, 1};
  ExpectHostsBits(&step);
}

TEST(GpuExpert, AUnitWithoutAnAddressIsReported) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step(layer, 4, 2);
  step.ids = {0, 3, 2, 1, 3, 2, 0, 1};
  const Outputs want = step.RunHost();
  step.missing = {3, 2};
  step.RunCard();
  EXPECT_EQ(step.failed_unit, 1u + 3 + 2);
  // The lowest stays, and counters are as they were.
  step.missing = {3};
  step.RunCard();
  EXPECT_EQ(step.failed_unit, 1u + 3 + 2);
  step.failed_unit = 0;
  step.missing.clear();
  EXPECT_TRUE(Same(step.RunCard().y, want.y));
  EXPECT_EQ(step.failed_unit, 0u);
}

TEST(GpuExpert, AnIdBeyondTheExpertsIsReported) {
  const Layer layer(Small(TensorType::kQ8_0, TensorType::kQ4_0));
  CardStep step(layer, 2, 2);
  const std::vector<int32_t> ids = step.ids;
  const Outputs want = step.RunHost();
  step.ids[1] = 4;
  step.RunCard();
  EXPECT_EQ(step.failed_unit, 1u + 3 + 4);
  step.failed_unit = 0;
  step.ids = ids;
  EXPECT_TRUE(Same(step.RunCard().y, want.y));
}

// What compares bits must see one.
TEST(GpuExpert, AFlippedBitShows) {
  LayerOptions options = Small(TensorType::kQ8_0, TensorType::kQ4_0);
  Layer layer(options);
  CardStep step(layer, 1, 4);
  const Outputs want = step.RunHost();
  EXPECT_TRUE(Same(step.RunCard().y, want.y));
  layer.units[1][layer.spec.down.offset + 5] ^= std::byte{0x10};
  EXPECT_FALSE(Same(step.RunCard().y, want.y));
}

}  // namespace
}  // namespace berth::kernels::gpu
