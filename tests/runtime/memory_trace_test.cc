#include "runtime/trace/memory_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "berth/types.h"
#include "tests/runtime/trace_builder.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using testing::TemporaryDirectory;
using testing::TraceBuilder;

TraceData Small() {
  TraceData data;
  data.info.layers = 2;
  data.info.experts = 4;
  data.info.top_k = 1;
  data.info.rows = 3;
  data.info.request_rows = {2, 1};
  data.experts = {0, 1, 2, 3, -1, 0};
  return data;
}

std::vector<int32_t> Copy(const Result<std::span<const int32_t>>& row) {
  EXPECT_TRUE(row.ok()) << row.status().ToString();
  return row.ok() ? std::vector<int32_t>(row->begin(), row->end()) : std::vector<int32_t>();
}

TEST(MemoryTraceTest, GivesWhatItWasMadeOf) {
  TraceData data = Small();
  data.weights = {1, 2, 3, 4, 5, 6};
  data.predicted_1_ahead = {3, 3, 3, 3, 3, 2};
  data.predicted_2_ahead = {1, 1, 1, 1, -1, 1};
  auto trace = MakeMemoryTrace(data);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_TRUE((*trace)->info().has_router_weights);
  EXPECT_EQ((*trace)->info().predictions_ahead, 2u);
  EXPECT_EQ(Copy((*trace)->Experts(2)), (std::vector<int32_t>{kNoExpert, 0}));
  EXPECT_EQ(Copy((*trace)->Predicted(2, 1)), (std::vector<int32_t>{3, 2}));
  EXPECT_EQ(Copy((*trace)->Predicted(2, 2)), (std::vector<int32_t>{kNoExpert, 1}));
  EXPECT_EQ((*(*trace)->Weights(1))[1], 4);
  EXPECT_EQ((*trace)->Experts(3).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ((*trace)->Weights(3).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ((*trace)->Predicted(0, 3).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_GE((*trace)->window_bytes(), 6 * (3 * sizeof(int16_t) + sizeof(float)));
}

TEST(MemoryTraceTest, ColumnsThatAreNotThere) {
  TraceData data = Small();
  data.info.has_router_weights = true;  // said, but not given
  data.info.predictions_ahead = 2;
  auto trace = MakeMemoryTrace(data);
  ASSERT_TRUE(trace.ok());
  EXPECT_FALSE((*trace)->info().has_router_weights);
  EXPECT_EQ((*trace)->Weights(0).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ((*trace)->Predicted(0, 1).status().code(), StatusCode::kFailedPrecondition);
}

TEST(MemoryTraceTest, WhatContradictsItself) {
  const auto code = [](auto change) {
    TraceData data = Small();
    change(&data);
    return MakeMemoryTrace(std::move(data)).status().code();
  };
  EXPECT_EQ(code([](TraceData*) {}), StatusCode::kOk);
  EXPECT_EQ(code([](TraceData* d) { d->experts.pop_back(); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](TraceData* d) { d->experts.resize(8); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](TraceData* d) { d->info.rows = 4; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](TraceData* d) { d->info.experts = 32768; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](TraceData* d) { d->info.experts = 32767; }), StatusCode::kOk);
  EXPECT_EQ(code([](TraceData* d) { d->experts[5] = 4; }), StatusCode::kOutOfRange);
  EXPECT_EQ(code([](TraceData* d) { d->experts[5] = -2; }), StatusCode::kOutOfRange);
  EXPECT_EQ(code([](TraceData* d) { d->weights = {1}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(
      code([](TraceData* d) { d->weights.assign(6, std::numeric_limits<float>::infinity()); }),
      StatusCode::kOutOfRange);
  EXPECT_EQ(code([](TraceData* d) { d->predicted_1_ahead = {1}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](TraceData* d) { d->predicted_2_ahead.assign(6, 1); }),
            StatusCode::kInvalidArgument);  // the first prediction is missing
}

TEST(MemoryTraceTest, LoadsAFileWhole) {
  const TemporaryDirectory directory;
  const std::string path = directory / "t";
  TraceBuilder builder = TraceBuilder::Small();
  builder.Set<uint8_t>("predicted_1_ahead", io::SafetensorsType::kU8, {4, 2, 2},
                       std::vector<uint8_t>(16, 2));
  builder.Set("router_weights", io::SafetensorsType::kF32, {4, 2, 2}, std::vector<float>(16, 2));
  builder.Write(path);
  auto file = TraceFile::Open(path);
  auto memory = LoadMemoryTrace(path);
  ASSERT_TRUE(memory.ok()) << memory.status().ToString();
  EXPECT_EQ((*memory)->info().request_rows, (*file)->info().request_rows);
  for (uint64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(Copy((*memory)->Experts(row)), Copy((*file)->Experts(row)));
    EXPECT_EQ(Copy((*memory)->Predicted(row, 1)), Copy((*file)->Predicted(row, 1)));
    EXPECT_EQ((*(*memory)->Weights(row))[3], 2);
  }
  // 16 entries of 2 + 2 + 4 bytes.
  EXPECT_TRUE(LoadMemoryTrace(path, 128).ok());
  const Status status = LoadMemoryTrace(path, 127).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find(path), std::string_view::npos);
  EXPECT_EQ(LoadMemoryTrace(directory / "none").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace berth
