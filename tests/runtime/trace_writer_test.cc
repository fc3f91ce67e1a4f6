#include "runtime/trace/trace_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "berth/types.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using testing::TemporaryDirectory;

// Everything that a trace can have, with ids and weights of a fixed seed.
struct Content {
  TraceInfo info;
  std::vector<std::vector<int32_t>> experts, predicted_1, predicted_2;
  std::vector<std::vector<float>> weights;

  TraceRow Row(size_t row) const {
    TraceRow made{.experts = experts[row]};
    if (info.has_router_weights) made.weights = weights[row];
    if (info.predictions_ahead >= 1) made.predicted_1_ahead = predicted_1[row];
    if (info.predictions_ahead >= 2) made.predicted_2_ahead = predicted_2[row];
    return made;
  }
};

Content Make(uint32_t experts, uint64_t rows) {
  Content content;
  TraceInfo& info = content.info;
  info.layers = 3;
  info.experts = experts;
  info.top_k = 2;
  info.rows = rows;
  info.request_rows = {static_cast<uint32_t>(rows - 1), 1};
  info.pass_rows = {1, static_cast<uint32_t>(rows - 1)};
  info.layer_ids = {4, 2, 9};
  info.request_labels = {"the \"first\"", "zwei"};
  info.streams = {7, 0};
  info.layer_unit_bytes = {100, 2329600, 100};
  info.model = "m";
  info.source = "a test";
  info.has_router_weights = true;
  info.predictions_ahead = 2;
  std::minstd_rand random(1);
  for (uint64_t row = 0; row < rows; ++row) {
    const auto ids = [&] {
      std::vector<int32_t> made(6);
      for (int32_t& id : made) id = static_cast<int32_t>(random() % (experts + 1)) - 1;
      return made;
    };
    content.experts.push_back(ids());
    content.predicted_1.push_back(ids());
    content.predicted_2.push_back(ids());
    content.weights.emplace_back(6, static_cast<float>(row) / 8);
  }
  return content;
}

template <typename T>
std::vector<T> Copy(const Result<std::span<const T>>& row) {
  EXPECT_TRUE(row.ok()) << row.status().ToString();
  return row.ok() ? std::vector<T>(row->begin(), row->end()) : std::vector<T>();
}

class TraceWriterTest : public ::testing::Test {
 protected:
  Status Write(const Content& content, bool replace = false) {
    auto writer = TraceWriter::Create(path_, content.info, replace);
    if (!writer.ok()) return writer.status();
    for (size_t row = 0; row < content.info.rows; ++row) {
      const Status status = (*writer)->Append(content.Row(row));
      if (!status.ok()) return status;
    }
    return (*writer)->Commit();
  }

  void ExpectRefused(const TraceInfo& info, const std::string& says) {
    const auto writer = TraceWriter::Create(path_, info);
    ASSERT_FALSE(writer.ok()) << says;
    EXPECT_EQ(writer.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(writer.status().message().find(says), std::string_view::npos)
        << writer.status().ToString();
    EXPECT_FALSE(std::filesystem::exists(path_));
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "t.safetensors";
};

// Every width of ids; more rows than a column's buffer holds.
TEST_F(TraceWriterTest, WhatIsWrittenIsRead) {
  for (const uint32_t experts : {5u, 255u, 256u, 65535u, 65536u}) {
    SCOPED_TRACE(experts);
    const Content content = Make(experts, 30000);
    ASSERT_TRUE(Write(content, true).ok());
    auto trace = TraceFile::Open(path_);
    ASSERT_TRUE(trace.ok()) << trace.status().ToString();
    const TraceInfo& info = (*trace)->info();
    EXPECT_EQ(info.experts, experts);
    EXPECT_EQ(info.request_rows, content.info.request_rows);
    EXPECT_EQ(info.pass_rows, content.info.pass_rows);
    EXPECT_EQ(info.layer_ids, content.info.layer_ids);
    EXPECT_EQ(info.request_labels, content.info.request_labels);
    EXPECT_EQ(info.streams, content.info.streams);
    EXPECT_EQ(info.layer_unit_bytes, content.info.layer_unit_bytes);
    EXPECT_EQ(info.model, "m");
    EXPECT_EQ(info.source, "a test");
    EXPECT_TRUE(info.has_router_weights);
    EXPECT_EQ(info.predictions_ahead, 2u);
    for (uint64_t row = 0; row < info.rows; row += row < 100 ? 1 : 997) {
      EXPECT_EQ(Copy((*trace)->Experts(row)), content.experts[row]) << row;
      EXPECT_EQ(Copy((*trace)->Predicted(row, 1)), content.predicted_1[row]) << row;
      EXPECT_EQ(Copy((*trace)->Predicted(row, 2)), content.predicted_2[row]) << row;
      EXPECT_EQ(Copy((*trace)->Weights(row)), content.weights[row]) << row;
    }
  }
}

TEST_F(TraceWriterTest, NothingIsLeftWithoutCommit) {
  const Content content = Make(5, 3);
  {
    auto writer = TraceWriter::Create(path_, content.info);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Append(content.Row(0)).ok());
    EXPECT_EQ((*writer)->Commit().code(), StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(TraceWriterTest, AnExistingFileIsReplacedOnlyIfAsked) {
  ASSERT_TRUE(Write(Make(5, 3)).ok());
  EXPECT_EQ(Write(Make(5, 4)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ((*TraceFile::Open(path_))->info().rows, 3u);
  ASSERT_TRUE(Write(Make(5, 4), true).ok());
  EXPECT_EQ((*TraceFile::Open(path_))->info().rows, 4u);
}

TEST_F(TraceWriterTest, RowsThatWereNotAnnounced) {
  Content content = Make(5, 3);
  auto writer = TraceWriter::Create(path_, content.info);
  ASSERT_TRUE(writer.ok());
  TraceRow row = content.Row(0);
  row.predicted_2_ahead = {};
  EXPECT_EQ((*writer)->Append(row).code(), StatusCode::kInvalidArgument);
  content.weights[0].pop_back();
  EXPECT_EQ((*writer)->Append(content.Row(0)).code(), StatusCode::kInvalidArgument);
  content.weights[0].push_back(NAN);
  EXPECT_EQ((*writer)->Append(content.Row(0)).code(), StatusCode::kOutOfRange);
  content.weights[0].back() = 1;
  for (const int32_t wrong : {5, -2}) {
    content.predicted_1[0][3] = wrong;
    const Status status = (*writer)->Append(content.Row(0));
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_NE(status.message().find("'predicted_1_ahead': row 0, layer 1: expert id " +
                                    std::to_string(wrong)),
              std::string_view::npos)
        << status.ToString();
  }
  content.predicted_1[0][3] = kNoExpert;
  // A refused row left nothing behind.
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE((*writer)->Append(content.Row(i)).ok());
  EXPECT_EQ((*writer)->Append(content.Row(0)).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE((*writer)->Commit().ok());
  auto trace = TraceFile::Open(path_);
  EXPECT_EQ(Copy((*trace)->Experts(2)), content.experts[2]);
}

TEST_F(TraceWriterTest, InfoThatContradictsItself) {
  const TraceInfo good = Make(5, 3).info;
  const auto with = [&](auto change) {
    TraceInfo info = good;
    change(&info);
    return info;
  };
  ExpectRefused(with([](TraceInfo* i) { i->layers = 0; }), "'layers'");
  ExpectRefused(with([](TraceInfo* i) { i->top_k = 6; }), "'top_k'");
  ExpectRefused(with([](TraceInfo* i) { i->rows = 0; }), "without rows");
  ExpectRefused(with([](TraceInfo* i) { i->rows = 4; }), "'request_rows' sums to 3");
  ExpectRefused(with([](TraceInfo* i) { i->request_rows = {3, 0}; }), "'request_rows' has a 0");
  ExpectRefused(with([](TraceInfo* i) { i->pass_rows = {2}; }), "'pass_rows' sums to 2");
  ExpectRefused(with([](TraceInfo* i) { i->request_labels = {"a"}; }), "1 labels for 2 requests");
  ExpectRefused(with([](TraceInfo* i) { i->streams = {1}; }), "1 entries for 2 requests");
  ExpectRefused(with([](TraceInfo* i) { i->streams = {1, 1u << 31}; }), "'stream'");
  ExpectRefused(with([](TraceInfo* i) { i->layer_ids = {1, 2}; }), "2 block numbers for 3 layers");
  ExpectRefused(with([](TraceInfo* i) { i->layer_ids = {1, 2, 1}; }), "block 1 stands twice");
  ExpectRefused(with([](TraceInfo* i) { i->layer_ids = {1, 2, 1u << 30}; }), "'layer_ids'");
  ExpectRefused(with([](TraceInfo* i) { i->layer_unit_bytes = {1, 0, 1}; }), "has a 0");
  ExpectRefused(with([](TraceInfo* i) { i->layer_unit_bytes = {1, 1, 1ull << 62}; }), "2^63");
  ExpectRefused(with([](TraceInfo* i) { i->predictions_ahead = 3; }), "3 ahead");
  ExpectRefused(with([](TraceInfo* i) {
                  i->layers = 65536;
                  i->experts = i->top_k = 1024;
                }),
                "layers x top_k");
}

}  // namespace
}  // namespace berth
