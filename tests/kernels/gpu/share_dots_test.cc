// Shares of the kernels with dot products on the emulated card, against the host's reference.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/gpu/expert_launch.h"
#include "tests/kernels/gpu/card_step.h"

namespace berth::kernels::gpu {

using testing::CardStep;
using testing::Layer;
using testing::LayerOptions;
using testing::Outputs;
using testing::Same;

namespace {

// Rows in stretches and as they lie, units as many at a time as there is room for their inputs,
// blocks that have more or fewer tiles than others or none.
struct ShareCase {
  TensorType gate_up, down;
  uint32_t hidden, ffn, experts, rows, top_k, processors;
};
class ShareDots : public ::testing::TestWithParam<ShareCase> {};

TEST_P(ShareDots, GiveTheHostsBits) {
  const ShareCase& c = GetParam();
  LayerOptions options;
  options.gate_up_type = c.gate_up;
  options.down_type = c.down;
  options.bias = true;
  options.scale = true;
  options.hidden = c.hidden;
  options.ffn = c.ffn;
  options.experts = c.experts;
  options.conventions.weights_before = c.rows % 2 == 1;
  const Layer layer(options);
  CardStep step(layer, c.rows, c.top_k);
  step.processors = c.processors;
  step.exact_rows = kMostExactRows;
  step.kernel = {KernelKind::kDots};
  const Outputs want = step.RunHost();
  for (const bool wave : {false, true}) {
    step.SpoilWorkspace();
    const Outputs got = step.RunCard(wave);
    EXPECT_TRUE(Same(got.partials, want.partials)) << wave;
    EXPECT_TRUE(Same(got.y, want.y)) << wave;
  }
  EXPECT_EQ(c.rows > kMostExactRows ? step.ran.wide : step.ran.dots, 4u);
  step.misalignment = 2;
  step.input_offset = 1;
  EXPECT_TRUE(Same(step.RunCard(true).y, want.y));
  if (c.rows * c.top_k > kMostExactRows) return;
  // Every pair of one expert: a unit of more pairs than are taken at a time.
  step.ids.assign(step.ids.size(), 1);
  const Outputs one = step.RunHost();
  EXPECT_TRUE(Same(step.RunCard().y, one.y));
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, ShareDots,
    ::testing::Values(
        // Many units a block.
        ShareCase{TensorType::kQ8_0, TensorType::kIQ4_NL, 64, 1280, 12, 8, 8, 2},
        ShareCase{TensorType::kQ8_0, TensorType::kIQ4_NL, 64, 1536, 20, 3, 8, 3},
        // Rows that lie at alternating addresses, in stretches.
        ShareCase{TensorType::kQ4_0, TensorType::kQ4_0, 3104, 96, 4, 2, 3, 3},
        ShareCase{TensorType::kIQ3_S, TensorType::kIQ4_NL, 2560, 160, 5, 1, 4, 4},
        ShareCase{TensorType::kQ2_K, TensorType::kMXFP4, 1024, 64, 6, 5, 3, 1},
        // Rows whose last blocks are half a round: two tiles at once, or one where that is all.
        ShareCase{TensorType::kQ8_0, TensorType::kIQ4_NL, 416, 128, 6, 3, 3, 2},
        ShareCase{TensorType::kQ8_0, TensorType::kQ4_0, 640, 640, 4, 2, 2, 1},
        ShareCase{TensorType::kIQ4_NL, TensorType::kMXFP4, 384, 288, 5, 3, 2, 1},
        // Most blocks have nothing to do.
        ShareCase{TensorType::kQ4_K, TensorType::kQ5_K, 256, 256, 3, 1, 2, 150},
        ShareCase{TensorType::kQ8_0, TensorType::kIQ4_NL, 32, 32, 128, 16, 4, 5},
        // More pairs than threads that list them, and not all experts have some.
        ShareCase{TensorType::kQ8_0, TensorType::kIQ4_NL, 32, 32, 600, 200, 3, 2},
        ShareCase{TensorType::kQ8_0, TensorType::kQ4_0, 32, 32, 160, 600, 8, 2}));

}  // namespace
}  // namespace berth::kernels::gpu
