// The grouped expert call on layers of GGUF files that the format's reference writer made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/expert/host_expert.h"
#include "kernels/formats/format.h"
#include "tests/kernels/expert_model.h"
#include "tests/kernels/fixture_layer.h"
#include "tests/kernels/safetensors_fixture.h"

namespace berth::kernels {
namespace {

class FixtureModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(BERTH_SHARED_DATA).empty()) {
      GTEST_SKIP() << "BERTH_SHARED_DATA is not set: the fixture models are not here";
    }
  }
  void Load(const std::string& file) {
    model_.Load(std::string(BERTH_SHARED_DATA) + "/fixtures/" + file);
  }

  testing::FixtureModel model_;
};

// All of a step in one call, partials poisoned before, then reduced.
std::vector<float> RunStep(const testing::Layer& layer, const std::vector<float>& x,
                           const std::vector<int32_t>& ids, const std::vector<float>& weights,
                           uint32_t rows, const Arithmetic& arithmetic) {
  const auto top_k = static_cast<uint32_t>(ids.size() / rows);
  testing::TestPool pool(2);
  HostExpertWorkspace workspace(&pool, layer.spec.hidden, layer.spec.ffn, rows * top_k,
                                {arithmetic, BestIsa()});
  const testing::Grouping grouping = testing::GroupBackwards(ids, layer);
  std::vector<float> partials(ids.size() * layer.spec.hidden,
                              std::numeric_limits<float>::quiet_NaN());
  std::vector<float> y(rows * layer.spec.hidden, std::numeric_limits<float>::quiet_NaN());
  GroupedCall call;
  call.spec = &layer.spec;
  call.units = grouping.units.data();
  call.unit_count = static_cast<uint32_t>(grouping.units.size());
  call.pairs = grouping.pairs.data();
  call.top_k = top_k;
  call.x = x.data();
  call.weights = weights.data();
  call.partials = partials.data();
  const Status ran = workspace.Run(call, grouping.addresses);
  EXPECT_TRUE(ran.ok()) << ran.message();
  ReduceCall reduce;
  reduce.rows = rows;
  reduce.top_k = top_k;
  reduce.hidden = layer.spec.hidden;
  reduce.partials = partials.data();
  reduce.weights = weights.data();
  reduce.ids = ids.data();
  reduce.y = y.data();
  reduce.y_stride = layer.spec.hidden;
  HostReduce(reduce);
  return y;
}

constexpr Arithmetic kF32 = {ArithmeticMode::kF32};
constexpr Arithmetic kExact = {ArithmeticMode::kExact, 8};
constexpr Arithmetic kWide = {ArithmeticMode::kExact, 0};
// Of the largest output; 8-bit activations are good for one or two percent here.
double Tolerance(const Arithmetic& arithmetic) { return arithmetic.IsExact(1) ? 2e-2 : 1e-5; }

void ExpectClose(const std::vector<float>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 0;
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
    largest = std::max(largest, std::abs(want[i]));
    worst = difference <= worst ? worst : difference;
  }
  EXPECT_GT(largest, 1e-6);
  EXPECT_LT(worst, tolerance * largest);
  EXPECT_GT(worst, 0);
}

std::vector<double> Reference(const testing::Layer& layer, const std::vector<float>& x,
                              const std::vector<int32_t>& ids, const std::vector<float>& weights,
                              uint32_t rows) {
  const uint32_t hidden = layer.spec.hidden;
  std::vector<double> y(rows * hidden);
  for (size_t pair = 0; pair < ids.size(); ++pair) {
    const size_t row = pair / (ids.size() / rows);
    const std::vector<double> partial = testing::ReferenceExpert(
        layer.spec, testing::DecodedUnit(layer.spec, layer.units[ids[pair]].data()), ids[pair],
        std::span<const float>(x.data() + row * hidden, hidden), weights[pair]);
    for (uint32_t i = 0; i < hidden; ++i) y[row * hidden + i] += weights[pair] * partial[i];
  }
  return y;
}

TEST_F(FixtureModels, QwenLikeEqualsThePublishedOutputs) {
  Load("tiny-qwen-like-00002-of-00003.gguf");
  Load("tiny-qwen-like-00003-of-00003.gguf");
  const berth::testing::SafetensorsFixture ffn(std::string(BERTH_SHARED_DATA) +
                                               "/fixtures/tiny-qwen-like.ffn.safetensors");
  const auto x = ffn.Get<float>("x");
  for (uint32_t block = 1; block <= 4; ++block) {
    SCOPED_TRACE("block " + std::to_string(block));
    const testing::Layer layer = model_.LoadLayer(block, *ConventionsOf("qwen3moe"));
    ASSERT_EQ(layer.spec.hidden, 256u);
    const std::string name = "layer" + std::to_string(block);
    const auto y = ffn.Get<float>(name + ".y");
    for (const Arithmetic& arithmetic : {kF32, kExact, kWide}) {
      SCOPED_TRACE(ArithmeticName(arithmetic));
      ExpectClose(RunStep(layer, x, ffn.Get<int32_t>(name + ".expert_ids"),
                          ffn.Get<float>(name + ".expert_weights"), 8, arithmetic),
                  std::vector<double>(y.begin(), y.end()), Tolerance(arithmetic));
    }
  }
}

TEST_F(FixtureModels, OthersEqualDoublePrecision) {
  struct Model {
    const char* file;
    const char* architecture;
  };
  for (const Model& model :
       {Model{"tiny-gptoss-like.gguf", "gpt-oss"}, Model{"tiny-fused-gate-up.gguf", "gemma4"}}) {
    SCOPED_TRACE(model.file);
    model_ = testing::FixtureModel();
    Load(model.file);
    const testing::Layer layer = model_.LoadLayer(0, *ConventionsOf(model.architecture));
    ASSERT_GE(layer.spec.experts, 4u);
    const auto x = testing::RandomValues(9, 3 * layer.spec.hidden);
    const std::vector<int32_t> ids = {3, 0, 1, 2, 2, 3};
    const std::vector<float> weights = {0.75f, 0.25f, 0.5f, 0.5f, 0.125f, 0.875f};
    for (const Arithmetic& arithmetic : {kF32, kExact, kWide}) {
      SCOPED_TRACE(ArithmeticName(arithmetic));
      ExpectClose(RunStep(layer, x, ids, weights, 3, arithmetic),
                  Reference(layer, x, ids, weights, 3), Tolerance(arithmetic));
    }
  }
}

}  // namespace
}  // namespace berth::kernels
