// Calls in one launch on the emulated card, whose first block takes all shares, against the host's
// reference.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/gpu/call_plan.h"
#include "kernels/gpu/expert_launch.h"
#include "tests/kernels/gpu/card_step.h"

namespace berth::kernels::gpu {

using kernels::testing::kActivations;
using testing::CardStep;
using testing::Layer;
using testing::LayerOptions;
using testing::Outputs;
using testing::Same;

namespace {

struct CallCase {
  TensorType gate_up, down;
  uint32_t hidden, ffn, experts, rows, top_k, processors;
};
LayerOptions OptionsOf(const CallCase& c) {
  LayerOptions options;
  options.gate_up_type = c.gate_up;
  options.down_type = c.down;
  options.bias = c.rows % 2 == 0;
  options.scale = true;
  options.hidden = c.hidden;
  options.ffn = c.ffn;
  options.experts = c.experts;
  options.conventions.weights_before = c.rows % 2 == 1;
  options.conventions.activation = kActivations[c.hidden / 32 % 5];
  return options;
}

void ExpectHostsBits(CardStep* step, const char* what, bool at_once = true) {
  SCOPED_TRACE(what);
  const Outputs want = step->RunHost();
  step->ran = KernelLaunches();
  const Outputs got = step->RunCard();
  EXPECT_TRUE(Same(got.partials, want.partials));
  EXPECT_TRUE(Same(got.y, want.y));
  EXPECT_EQ(step->ran.at_once, at_once ? 1u : 0u);
  EXPECT_EQ(step->ran.dots, 2u);
}

class CallKernels : public ::testing::TestWithParam<CallCase> {};

TEST_P(CallKernels, GiveTheHostsBits) {
  const CallCase& c = GetParam();
  const Layer layer(OptionsOf(c));
  CardStep step(layer, c.rows, c.top_k);
  step.processors = c.processors;
  step.dispatch.matrix_pairs = UINT32_MAX;
  ExpectHostsBits(&step, "first");
  // In the same workspace, whose counters are as they were.
  step.SpoilWorkspace();
  ExpectHostsBits(&step, "again");
  step.kernel = {KernelKind::kDots};
  ExpectHostsBits(&step, "launch by launch", false);
  step.kernel = {};
  step.misalignment = 2;
  step.input_offset = 1;
  ExpectHostsBits(&step, "anywhere");
  // Every pair of one expert: a unit of more pairs than are taken at a time. Of more than
  // exact_rows the host's are wide.
  step.ids.assign(step.ids.size(), 1);
  const Outputs at_once = step.RunCard();
  step.kernel = {KernelKind::kDots};
  EXPECT_TRUE(Same(step.RunCard().partials, at_once.partials));
  step.kernel = {};
  step.ids.assign(step.ids.size(), kNoExpert);
  ExpectHostsBits(&step, "nobody");
  EXPECT_EQ(step.failed_unit, 0u);
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, CallKernels,
    ::testing::Values(
        CallCase{TensorType::kIQ3_S, TensorType::kIQ4_NL, 512, 96, 6, 3, 4, 3},
        CallCase{TensorType::kIQ3_XXS, TensorType::kIQ4_NL, 256, 160, 5, 2, 3, 4},
        CallCase{TensorType::kIQ2_S, TensorType::kQ2_0, 768, 128, 7, 5, 2, 2},
        CallCase{TensorType::kIQ4_XS, TensorType::kIQ4_NL, 512, 64, 4, 4, 2, 1},
        CallCase{TensorType::kQ4_K, TensorType::kQ4_0, 256, 288, 9, 8, 3, 2},
        CallCase{TensorType::kMXFP4, TensorType::kMXFP4, 160, 96, 5, 1, 4, 7},
        CallCase{TensorType::kMXFP4, TensorType::kMXFP4, 416, 128, 6, 3, 3, 2},
        // Long rows, whose inputs there is no room for together, and rows in stretches.
        CallCase{TensorType::kMXFP4, TensorType::kMXFP4, 8192, 32, 3, 4, 2, 2},
        CallCase{TensorType::kIQ3_S, TensorType::kIQ4_NL, 2560, 160, 3, 2, 2, 3},
        // As many units as there may be, many a share; more experts than threads.
        CallCase{TensorType::kMXFP4, TensorType::kMXFP4, 32, 64, 600, 8, 12, 3},
        // Most blocks have nothing to do.
        CallCase{TensorType::kMXFP4, TensorType::kMXFP4, 64, 32, 3, 1, 2, 150}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

TEST(CallKernels, OthersTakeWhatIsTooMuch) {
  const CallCase c = {TensorType::kMXFP4, TensorType::kMXFP4, 32, 64, 300, 7, 14, 2};
  static_assert(7 * 14 > kMostCallPairs);
  const Layer layer(OptionsOf(c));
  CardStep pairs(layer, c.rows, c.top_k);
  ExpectHostsBits(&pairs, "pairs", false);
  CardStep shares(layer, 2, 2);
  shares.processors = kMostCallShares + 1;
  ExpectHostsBits(&shares, "shares", false);
  const CallCase other = {TensorType::kMXFP4, TensorType::kQ4_0, 64, 64, 8, 2, 2, 1};
  const Layer of_others(OptionsOf(other));
  CardStep types(of_others, 2, 2);
  ExpectHostsBits(&types, "types", false);
}

TEST(CallKernels, SayWhichUnitHasNoAddress) {
  const CallCase c = {TensorType::kMXFP4, TensorType::kMXFP4, 64, 64, 8, 3, 2, 2};
  const Layer layer(OptionsOf(c));
  for (const bool at_once : {false, true}) {
    CardStep step(layer, c.rows, c.top_k);
    if (!at_once) step.kernel = {KernelKind::kDots};
    step.dispatch.matrix_pairs = UINT32_MAX;
    step.ids = {4, 2, 7, 2, 1, 4};
    step.missing = {4, 2};
    const Outputs want = step.RunHost();
    const Outputs got = step.RunCard();
    EXPECT_EQ(step.ran.at_once, at_once ? 1u : 0u);
    // Units of other layers come before.
    EXPECT_EQ(step.failed_unit, 1u + 3u + 2u);
    // Other pairs are what they are.
    for (const size_t pair : {2, 4}) {
      for (size_t i = pair * c.hidden; i < (pair + 1) * c.hidden; ++i) {
        EXPECT_EQ(got.partials[i], want.partials[i]) << pair;
      }
    }
    step.missing.clear();
    step.failed_unit = 0;
    step.ids[3] = 8;
    step.RunCard();
    EXPECT_EQ(step.failed_unit, 1u + 3u + 8u);
    step.failed_unit = 0;
    step.ids[3] = 3;
    EXPECT_TRUE(Same(step.RunCard().y, step.RunHost().y));
  }
}

}  // namespace
}  // namespace berth::kernels::gpu
