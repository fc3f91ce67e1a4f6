#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/trace/cut.h"
#include "runtime/trace/trace.h"
#include "tests/runtime/trace_builder.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using io::SafetensorsType;
using testing::TemporaryDirectory;
using testing::TraceBuilder;

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CutTraceTest : public ::testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string from_ = directory_ / "from";
  const std::string to_ = directory_ / "to";
};

TEST_F(CutTraceTest, KeepsLayersRowsAndNames) {
  TraceBuilder builder = TraceBuilder::Small();
  builder.Meta("layer_unit_bytes", "[10, 20]");
  builder.Meta("layer_ids", "[3, 7]").Meta("request_labels", "[\"a\", \"b\"]").Meta("model", "m");
  builder.Set<int32_t>("pass_rows", SafetensorsType::kI32, {2}, {2, 2});
  builder.Set<int32_t>("stream", SafetensorsType::kI32, {2}, {4, 5});
  std::vector<float> weights(16);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  builder.Set("router_weights", SafetensorsType::kF32, {4, 2, 2}, weights);
  builder.Write(from_);
  // The second request first; of the first one rows 1 and 2, which lie in two passes.
  ASSERT_TRUE(CutTrace(from_, {1, 2, {{1, 0, 1}, {0, 1, 2}}}, to_).ok());
  auto trace = TraceFile::Open(to_);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const TraceInfo& info = (*trace)->info();
  EXPECT_EQ(info.layers, 1u);
  EXPECT_EQ(info.layer_ids, (std::vector<uint32_t>{7}));
  EXPECT_EQ(info.layer_unit_bytes, (std::vector<uint64_t>{20}));
  EXPECT_EQ(info.request_rows, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(info.request_labels, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(info.streams, (std::vector<uint32_t>{5, 4}));
  EXPECT_EQ(info.pass_rows, (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(info.model, "m");
  const std::vector<std::vector<int32_t>> expected = {{3, 4}, {1, kNoExpert}, {4, 0}};
  const std::vector<float> expected_weights = {14, 6, 10};
  for (uint64_t row = 0; row < expected.size(); ++row) {
    auto ids = (*trace)->Experts(row);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(std::vector<int32_t>(ids->begin(), ids->end()), expected[row]) << row;
    auto row_weights = (*trace)->Weights(row);
    ASSERT_TRUE(row_weights.ok());
    EXPECT_EQ((*row_weights)[0], expected_weights[row]);
  }
}

TEST_F(CutTraceTest, KeepsPredictionsWhereAsked) {
  TraceBuilder builder = TraceBuilder::Small();
  builder.Set<uint8_t>("predicted_1_ahead", SafetensorsType::kU8, {4, 2, 2},
                       std::vector<uint8_t>(16, 2));
  builder.Write(from_);
  TraceCut cut{0, 2, {{0, 0, 3}}};
  ASSERT_TRUE(CutTrace(from_, cut, to_).ok());
  EXPECT_EQ((*TraceFile::Open(to_))->info().predictions_ahead, 0u);
  cut.predictions = true;
  EXPECT_EQ(CutTrace(from_, cut, to_).code(), StatusCode::kFailedPrecondition);  // it is there
  cut.replace = true;
  EXPECT_EQ(CutTrace(from_, cut, from_).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(CutTrace(from_, cut, to_).ok());
  auto trace = TraceFile::Open(to_);
  ASSERT_EQ((*trace)->info().predictions_ahead, 1u);
  EXPECT_EQ((*(*trace)->Predicted(2, 1))[3], 2);
}

TEST_F(CutTraceTest, WritesNothingWhenItCannot) {
  TraceBuilder::Small()
      .Set<uint8_t>("experts", SafetensorsType::kU8, {4, 2, 2},
                    {0, 1, 2, 3, 4, 0, 1, 255, 2, 3, 4, 0, 1, 2, 3, 77})
      .Write(from_);
  const std::vector<TraceCut> wrong = {
      {0, 3, {{0, 0, 1}}}, {1, 1, {{0, 0, 1}}}, {0, 1, {}},
      {0, 1, {{2, 0, 1}}}, {0, 1, {{0, 3, 1}}}, {0, 1, {{0, 1, 3}}},
      {0, 1, {{0, 0, 0}}}, {0, 2, {{1, 0, 1}}}};  // the last meets the id 77
  for (const TraceCut& cut : wrong) {
    EXPECT_FALSE(CutTrace(from_, cut, to_).ok());
    EXPECT_FALSE(std::filesystem::exists(to_));
  }
}

TEST_F(CutTraceTest, TheDemoTraceCanBeCutAgain) {
  const std::string whole = std::string(BERTH_SHARED_DATA) + "/traces/moe-128x16-top8.safetensors";
  if (!std::filesystem::exists(whole)) GTEST_SKIP() << "the whole trace is not at hand";
  TraceCut cut{0, 8, {}};
  for (uint32_t request : {0, 1, 2, 4, 6, 8, 9, 13}) cut.parts.push_back({request, 0, 188});
  ASSERT_TRUE(CutTrace(whole, cut, to_).ok());
  EXPECT_TRUE(Contents(to_) == Contents(std::string(BERTH_TEST_DATA) + "/moe-128x8-demo.trace"));
}

}  // namespace
}  // namespace berth
