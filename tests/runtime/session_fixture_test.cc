// Models that the format's reference writer made, through the public interface, against double
// precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "berth/runtime.h"
#include "kernels/formats/half.h"
#include "runtime/catalog/catalog.h"
#include "tests/kernels/expert_model.h"
#include "tests/kernels/safetensors_fixture.h"
#include "tests/runtime/session_work.h"

namespace berth::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<Runtime> Open(const std::string& model, uint32_t rows,
                              const std::string& arithmetic = "f32") {
  RuntimeOptions options;
  options.arithmetic = arithmetic;
  options.model = model;
  options.max_rows = rows;
  options.threads = 2;
  auto runtime = Runtime::Open(options);
  EXPECT_TRUE(runtime.ok()) << runtime.status().ToString();
  return runtime.ok() ? std::move(runtime).value() : nullptr;
}

void RunStep(Session* session, const Step& step) {
  const auto ticket = session->Enqueue(step);
  ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
  const Status done = session->Wait(*ticket);
  ASSERT_TRUE(done.ok()) << done.ToString();
}

void ExpectClose(const std::vector<float>& got, const std::vector<double>& want,
                 double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    largest = std::max(largest, std::abs(want[i]));
    worst = difference <= worst ? worst : difference;  // a NaN becomes the worst
  }
  EXPECT_GT(largest, 1e-6);
  EXPECT_LT(worst, tolerance * largest);
  EXPECT_GT(worst, 0);  // F32 cannot give every sum as double does
}

std::string Shared(const std::string& name) {
  return std::string(BERTH_SHARED_DATA) + "/fixtures/" + name;
}

// The published inputs and outputs of the split model, all four layers, 8 rows.
class QwenLike : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(BERTH_SHARED_DATA).empty()) {
      GTEST_SKIP() << "BERTH_SHARED_DATA is not set: the fixture models are not here";
    }
    runtime_ = Open(Shared("tiny-qwen-like-00001-of-00003.gguf"), 8);
    ASSERT_NE(runtime_, nullptr);
    session_ = std::move(runtime_->NewSession()).value();
    fixture_ = std::make_unique<SafetensorsFixture>(Shared("tiny-qwen-like.ffn.safetensors"));
    x_ = fixture_->Get<float>("x");
    hidden_ = runtime_->shape().hidden;
  }

  Step StepOf(uint32_t layer) {
    const std::string name = "layer" + std::to_string(runtime_->shape().blocks[layer]);
    ids_ = fixture_->Get<int32_t>(name + ".expert_ids");
    weights_ = fixture_->Get<float>(name + ".expert_weights");
    const std::vector<float> y = fixture_->Get<float>(name + ".y");
    want_.assign(y.begin(), y.end());
    y_.assign(x_.size(), kNan);
    Step step;
    step.layer = layer;
    step.rows = 8;
    step.x = x_.data();
    step.ids = ids_.data();
    step.weights = weights_.data();
    step.y = y_.data();
    return step;
  }

  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<SafetensorsFixture> fixture_;
  uint32_t hidden_ = 0;
  std::vector<float> x_, weights_, y_;
  std::vector<int32_t> ids_;
  std::vector<double> want_;
};

TEST_F(QwenLike, EqualsThePublishedOutputs) {
  ASSERT_EQ(runtime_->shape().layers, 4u);
  ASSERT_EQ(runtime_->shape().blocks, (std::vector<uint32_t>{1, 2, 3, 4}));
  for (uint32_t layer = 0; layer < 4; ++layer) {
    SCOPED_TRACE("layer " + std::to_string(layer));
    const Step step = StepOf(layer);
    RunStep(session_.get(), step);
    ExpectClose(y_, want_);
  }
}

// As far as 8-bit activations go.
TEST_F(QwenLike, ExactEqualsThemToAPercentOrTwo) {
  session_.reset();
  runtime_ = Open(Shared("tiny-qwen-like-00001-of-00003.gguf"), 8, "exact");
  ASSERT_NE(runtime_, nullptr);
  auto session = runtime_->NewSession();
  ASSERT_TRUE(session.ok());
  session_ = std::move(session).value();
  for (uint32_t layer = 0; layer < 4; ++layer) {
    SCOPED_TRACE("layer " + std::to_string(layer));
    const Step step = StepOf(layer);
    RunStep(session_.get(), step);
    ExpectClose(y_, want_, 2e-2);
  }
}

// Half types and strides: x is converted exactly, y is rounded once, and what lies between the rows
// is nobody's business.
TEST_F(QwenLike, HalfTypesAndStrides) {
  constexpr uint16_t kMark = 0xABCD;
  const size_t x_stride = hidden_ + 44, y_stride = hidden_ + 24;
  for (const DataType type : {DataType::kF16, DataType::kBF16}) {
    const auto narrow = [&](float v) {
      return type == DataType::kF16 ? kernels::F32ToF16(v) : kernels::F32ToBf16(v);
    };
    std::vector<uint16_t> x(8 * x_stride, 0x7FFF);  // NaN in both, where nothing is read
    Step step = StepOf(1);
    std::vector<float> rounded(x_.size());
    for (size_t i = 0; i < x_.size(); ++i) {
      const uint16_t bits = narrow(x_[i]);
      x[i / hidden_ * x_stride + i % hidden_] = bits;
      rounded[i] = type == DataType::kF16 ? kernels::F16ToF32(bits) : kernels::Bf16ToF32(bits);
    }
    step.x = rounded.data();
    RunStep(session_.get(), step);
    const std::vector<float> full = y_;
    std::vector<uint16_t> y(8 * y_stride, kMark);
    step.x = x.data();
    step.x_type = step.y_type = type;
    step.x_stride = x_stride;
    step.y = y.data();
    step.y_stride = y_stride;
    RunStep(session_.get(), step);
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t row = i / y_stride, column = i % y_stride;
      ASSERT_EQ(y[i], column < hidden_ ? narrow(full[row * hidden_ + column]) : kMark) << i;
    }
  }
}

// Biases, strides that are no multiple of a page, and the fused tensor.
TEST(SessionFixture, OthersEqualDoublePrecision) {
  for (const char* name : {"tiny-gptoss-like.gguf", "tiny-fused-gate-up.gguf"}) {
    SCOPED_TRACE(name);
    const std::string model = std::string(BERTH_TEST_DATA) + "/" + name;
    const auto catalog = Catalog::Open(model);
    ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
    const uint32_t rows = 3, top_k = (*catalog)->top_k(), hidden = (*catalog)->hidden();
    const auto runtime = Open(model, rows);
    ASSERT_NE(runtime, nullptr);
    const auto session = runtime->NewSession();
    ASSERT_TRUE(session.ok());
    for (uint32_t layer = 0; layer < (*catalog)->layers(); ++layer) {
      const kernels::ExpertSpec& spec = (*catalog)->layer(layer).spec;
      const std::vector<float> x = kernels::testing::RandomValues(layer + 9, rows * hidden);
      std::vector<int32_t> ids;
      std::vector<float> weights;
      for (uint32_t pair = 0; pair < rows * top_k; ++pair) {
        ids.push_back(static_cast<int32_t>((pair * 3 + layer) % spec.experts));
        weights.push_back(1.0f / static_cast<float>(1 + pair));
      }
      std::vector<float> y(x.size(), kNan);
      std::vector<double> want(x.size());
      for (uint32_t pair = 0; pair < rows * top_k; ++pair) {
        const std::vector<std::byte> unit =
            CardImage(**catalog, (*catalog)->unit({layer, static_cast<uint32_t>(ids[pair])}));
        const std::vector<double> partial = kernels::testing::ReferenceExpert(
            spec, kernels::testing::DecodedUnit(spec, unit.data()), ids[pair],
            std::span<const float>(&x[pair / top_k * hidden], hidden), weights[pair]);
        for (uint32_t i = 0; i < hidden; ++i) {
          want[pair / top_k * hidden + i] += weights[pair] * partial[i];
        }
      }
      Step step;
      step.layer = layer;
      step.rows = rows;
      step.x = x.data();
      step.ids = ids.data();
      step.weights = weights.data();
      step.y = y.data();
      RunStep(session->get(), step);
      ExpectClose(y, want);
    }
  }
}

}  // namespace
}  // namespace berth::testing
