#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/trace/trace.h"
#include "tests/runtime/trace_builder.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using io::SafetensorsType;
using testing::TemporaryDirectory;
using testing::TraceBuilder;

std::vector<int32_t> Ids(const Result<std::span<const int32_t>>& row) {
  EXPECT_TRUE(row.ok()) << row.status().ToString();
  return row.ok() ? std::vector<int32_t>(row->begin(), row->end()) : std::vector<int32_t>();
}

class TraceFileTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<TraceFile>> Open(const TraceBuilder& builder) {
    builder.Write(path_);
    return TraceFile::Open(path_);
  }
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "t.safetensors";
};

TEST_F(TraceFileTest, ReadsRowsInAnyOrder) {
  auto trace = Open(TraceBuilder::Small());
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const TraceInfo& info = (*trace)->info();
  EXPECT_EQ(info.layers, 2u);
  EXPECT_EQ(info.experts, 5u);
  EXPECT_EQ(info.top_k, 2u);
  EXPECT_EQ(info.rows, 4u);
  EXPECT_EQ(info.request_rows, (std::vector<uint32_t>{3, 1}));
  EXPECT_TRUE(info.pass_rows.empty());
  EXPECT_EQ(info.predictions_ahead, 0u);
  EXPECT_EQ(Ids((*trace)->Experts(3)), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(Ids((*trace)->Experts(1)), (std::vector<int32_t>{4, 0, 1, kNoExpert}));
  EXPECT_EQ((*trace)->Experts(4).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ((*trace)->Weights(0).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ((*trace)->Predicted(0, 1).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(TraceFileTest, EveryIdTypeMeansTheSame) {
  const std::vector<int32_t> expected = {4, 0, 1, kNoExpert};
  const auto check = [&](TraceBuilder builder) {
    auto trace = Open(builder);
    ASSERT_TRUE(trace.ok()) << trace.status().ToString();
    EXPECT_EQ(Ids((*trace)->Experts(1)), expected);
  };
  const std::vector<int> ids = {0, 1, 2, 3, 4, 0, 1, -1, 2, 3, 4, 0, 1, 2, 3, 4};
  check(TraceBuilder::Small()
            .Meta("none", "65535")
            .Set<uint16_t>("experts", SafetensorsType::kU16, {4, 2, 2}, {ids.begin(), ids.end()}));
  check(TraceBuilder::Small()
            .Meta("none", "-1")
            .Set<int16_t>("experts", SafetensorsType::kI16, {4, 2, 2}, {ids.begin(), ids.end()}));
  check(TraceBuilder::Small()
            .Meta("none", "-1")
            .Set<int32_t>("experts", SafetensorsType::kI32, {4, 2, 2}, {ids.begin(), ids.end()}));
}

TEST_F(TraceFileTest, ReadsEverythingOptional) {
  TraceBuilder builder = TraceBuilder::Small();
  builder.Meta("layer_ids", "[3, 7]").Meta("request_labels", "[\"a\", \"b\"]");
  builder.Meta("model", "m").Meta("source", "s").Meta("note", "kept out");
  builder.Set<int32_t>("pass_rows", SafetensorsType::kI32, {3}, {2, 1, 1});
  builder.Set<int32_t>("stream", SafetensorsType::kI32, {2}, {0, 9});
  // 1, -2, 0.5, 2^-24 (the smallest half), then zeros.
  std::vector<uint16_t> halves(16, 0);
  halves[0] = 0x3c00, halves[1] = 0xc000, halves[2] = 0x3800, halves[3] = 0x0001;
  builder.Set("router_weights", SafetensorsType::kF16, {4, 2, 2}, halves);
  std::vector<uint8_t> ahead(16, 255);
  ahead[2] = 4;
  builder.Set("predicted_1_ahead", SafetensorsType::kU8, {4, 2, 2}, ahead);
  ahead[2] = 3;
  builder.Set("predicted_2_ahead", SafetensorsType::kU8, {4, 2, 2}, ahead);
  auto trace = Open(builder);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const TraceInfo& info = (*trace)->info();
  EXPECT_EQ(info.layer_ids, (std::vector<uint32_t>{3, 7}));
  EXPECT_EQ(info.request_labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(info.pass_rows, (std::vector<uint32_t>{2, 1, 1}));
  EXPECT_EQ(info.streams, (std::vector<uint32_t>{0, 9}));
  EXPECT_EQ(info.model, "m");
  EXPECT_EQ(info.source, "s");
  EXPECT_EQ(info.predictions_ahead, 2u);
  auto weights = (*trace)->Weights(0);
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ((*weights)[0], 1.0f);
  EXPECT_EQ((*weights)[1], -2.0f);
  EXPECT_EQ((*weights)[2], 0.5f);
  EXPECT_EQ((*weights)[3], 0x1p-24f);
  EXPECT_EQ(Ids((*trace)->Predicted(0, 1)), (std::vector<int32_t>{-1, -1, 4, -1}));
  EXPECT_EQ(Ids((*trace)->Predicted(0, 2)), (std::vector<int32_t>{-1, -1, 3, -1}));
  EXPECT_EQ((*trace)->Predicted(0, 3).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(TraceFileTest, AnIdBeyondTheExpertsNamesRowLayerAndId) {
  auto trace =
      Open(TraceBuilder::Small().Set<uint8_t>("experts", SafetensorsType::kU8, {4, 2, 2},
                                              {0, 1, 2, 3, 4, 0, 1, 255, 2, 3, 4, 5, 1, 2, 3, 4}));
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE((*trace)->Experts(1).ok());
  const Status status = (*trace)->Experts(2).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("row 2, layer 1: expert id 5"), std::string_view::npos)
      << status.ToString();
}

TEST_F(TraceFileTest, WeightsThatAreNoNumbersAreRefused) {
  std::vector<float> weights(16, 0.5f);
  weights[7] = std::numeric_limits<float>::quiet_NaN();
  auto trace =
      Open(TraceBuilder::Small().Set("router_weights", SafetensorsType::kF32, {4, 2, 2}, weights));
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE((*trace)->Weights(0).ok());
  EXPECT_EQ((*trace)->Weights(1).status().code(), StatusCode::kOutOfRange);
}

TEST_F(TraceFileTest, ReadsThroughABoundedWindow) {
  // 8 MB of ids, read forwards and backwards.
  const uint64_t rows = 2'000'000;
  std::vector<uint8_t> ids(rows * 4);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<uint8_t>((i / 4 * 7 + i) % 5);
  TraceBuilder builder = TraceBuilder::Small();
  builder.Set("experts", SafetensorsType::kU8, {rows, 2, 2}, ids);
  builder.Set<int32_t>("request_rows", SafetensorsType::kI32, {1}, {static_cast<int32_t>(rows)});
  auto trace = Open(builder);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_LE((*trace)->window_bytes(), 5u << 20);
  for (uint64_t row : {uint64_t{0}, rows - 1, rows / 2, uint64_t{262143}, uint64_t{262144}}) {
    const std::vector<int32_t> found = Ids((*trace)->Experts(row));
    ASSERT_EQ(found, std::vector<int32_t>(ids.begin() + row * 4, ids.begin() + row * 4 + 4));
  }
}

TEST_F(TraceFileTest, AFileThatShrinksIsADataLoss) {
  auto trace = Open(TraceBuilder::Small());
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(::truncate(path_.c_str(), 100), 0);
  EXPECT_EQ((*trace)->Experts(0).status().code(), StatusCode::kDataLoss);
}

struct BadTrace {
  const char* name;
  std::function<void(TraceBuilder*)> spoil;
  const char* says;
};

class BadTraceTest : public ::testing::TestWithParam<BadTrace> {};

TEST_P(BadTraceTest, IsRefusedInOneLine) {
  const TemporaryDirectory directory;
  const std::string path = directory / "t.safetensors";
  TraceBuilder builder = TraceBuilder::Small();
  GetParam().spoil(&builder);
  builder.Write(path);
  const Status status = TraceFile::Open(path).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
  EXPECT_NE(status.message().find(GetParam().says), std::string_view::npos) << status.ToString();
  EXPECT_NE(status.message().find(path), std::string_view::npos) << status.ToString();
  EXPECT_EQ(status.message().find('\n'), std::string_view::npos);
}

const std::vector<uint8_t> kSixteenIds(16, 1);

INSTANTIATE_TEST_SUITE_P(
    All, BadTraceTest,
    ::testing::Values(
        BadTrace{"NoFormat", [](auto* b) { b->metadata.erase("format"); }, "not a routing trace"},
        BadTrace{"OtherFormat", [](auto* b) { b->Meta("format", "moe-routing-trace/2"); },
                 "found 'moe-routing-trace/2'"},
        BadTrace{"NoLayers", [](auto* b) { b->metadata.erase("layers"); }, "'layers' is missing"},
        BadTrace{"ZeroExperts", [](auto* b) { b->Meta("experts", "0"); }, "'experts'"},
        BadTrace{"WordExperts", [](auto* b) { b->Meta("experts", "many"); }, "found 'many'"},
        BadTrace{"TopKAboveExperts", [](auto* b) { b->Meta("top_k", "6"); }, "'top_k'"},
        BadTrace{"NoneIsAnExpert", [](auto* b) { b->Meta("none", "3"); }, "'none'"},
        BadTrace{"LayersDiffer", [](auto* b) { b->Meta("layers", "3"); },
                 "expected the shape [4, 3, 2]"},
        BadTrace{"TooFewLayerIds", [](auto* b) { b->Meta("layer_ids", "[1]"); }, "'layer_ids'"},
        BadTrace{"LayerIdTwice", [](auto* b) { b->Meta("layer_ids", "[1, 1]"); }, "stands twice"},
        BadTrace{"LayerIdsNoJson", [](auto* b) { b->Meta("layer_ids", "[1,"); }, "'layer_ids'"},
        BadTrace{"TooFewUnitBytes", [](auto* b) { b->Meta("layer_unit_bytes", "[1]"); },
                 "'layer_unit_bytes'"},
        BadTrace{"NoUnitBytes", [](auto* b) { b->Meta("layer_unit_bytes", "[1, 0]"); }, "from 1"},
        BadTrace{"NegativeUnitBytes", [](auto* b) { b->Meta("layer_unit_bytes", "[1, -1]"); },
                 "from 1"},
        BadTrace{"UnitBytesBeyondAll",
                 [](auto* b) { b->Meta("layer_unit_bytes", "[1, 9000000000000000000]"); }, "2^63"},
        BadTrace{"LabelsDiffer", [](auto* b) { b->Meta("request_labels", "[\"a\"]"); },
                 "1 labels for 2 requests"},
        BadTrace{"LabelsNoStrings", [](auto* b) { b->Meta("request_labels", "[1, 2]"); },
                 "'request_labels'"},
        BadTrace{"NoExperts", [](auto* b) { b->Remove("experts"); }, "'experts' is missing"},
        BadTrace{"NoRows",
                 [](auto* b) {
                   b->template Set<uint8_t>("experts", SafetensorsType::kU8, {0, 2, 2}, {});
                 },
                 "no rows"},
        BadTrace{"FloatExperts",
                 [](auto* b) {
                   b->Set("experts", SafetensorsType::kF32, {4, 2, 2}, std::vector<float>(16));
                 },
                 "found F32"},
        BadTrace{"FlatExperts",
                 [](auto* b) { b->Set("experts", SafetensorsType::kU8, {16}, kSixteenIds); },
                 "expected the shape"},
        BadTrace{"NoRequests", [](auto* b) { b->Remove("request_rows"); }, "is missing"},
        BadTrace{"RequestsSumDiffers",
                 [](auto* b) {
                   b->template Set<int32_t>("request_rows", SafetensorsType::kI32, {2}, {3, 2});
                 },
                 "sums to 5 rows"},
        BadTrace{"NegativeRequest",
                 [](auto* b) {
                   b->template Set<int32_t>("request_rows", SafetensorsType::kI32, {2}, {5, -1});
                 },
                 "has -1 at 1"},
        BadTrace{"WideRequests",
                 [](auto* b) {
                   b->template Set<int64_t>("request_rows", SafetensorsType::kI64, {2}, {3, 1});
                 },
                 "expected I32"},
        BadTrace{
            "PassesSumDiffers",
            [](auto* b) { b->template Set<int32_t>("pass_rows", SafetensorsType::kI32, {1}, {3}); },
            "'pass_rows' sums to 3"},
        BadTrace{"StreamPerRow",
                 [](auto* b) {
                   b->template Set<int32_t>("stream", SafetensorsType::kI32, {4}, {0, 0, 0, 0});
                 },
                 "4 entries for 2 requests"},
        BadTrace{
            "MisspeltTensor",
            [](auto* b) {
              b->Set("router_weight", SafetensorsType::kF32, {4, 2, 2}, std::vector<float>(16));
            },
            "did you mean 'router_weights'"},
        BadTrace{"SecondPredictionAlone",
                 [](auto* b) {
                   b->Set("predicted_2_ahead", SafetensorsType::kU8, {4, 2, 2}, kSixteenIds);
                 },
                 "without 'predicted_1_ahead'"}),
    [](const auto& info) { return info.param.name; });

TEST(TraceDataTest, TheDemoTraceIsWhatItSays) {
  const std::string path = std::string(BERTH_TEST_DATA) + "/moe-128x8-demo.trace";
  EXPECT_LT(std::filesystem::file_size(path), 200'000u);
  auto trace = TraceFile::Open(path);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const TraceInfo& info = (*trace)->info();
  EXPECT_EQ(info.layers, 8u);
  EXPECT_EQ(info.experts, 128u);
  EXPECT_EQ(info.top_k, 8u);
  EXPECT_EQ(info.rows, 1504u);
  EXPECT_EQ(info.request_rows.size(), 8u);
  for (uint64_t row = 0; row < info.rows; ++row) {
    auto ids = (*trace)->Experts(row);
    ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  }
}

}  // namespace
}  // namespace berth
