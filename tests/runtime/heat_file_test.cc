#include "runtime/trace/heat_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "io/safetensors/writer.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using io::SafetensorsType;
using testing::TemporaryDirectory;

class HeatFileTest : public ::testing::Test {
 protected:
  Result<UnitHeat> Text(const std::string& text, uint32_t layers = 2, uint32_t experts = 3) {
    return ParseHeat(
        std::make_unique<io::MemorySource>("t", std::as_bytes(std::span<const char>(text))), layers,
        experts);
  }
  void ExpectText(const std::string& text, const std::string& says, uint32_t layers = 2,
                  uint32_t experts = 3) {
    const Status status = Text(text, layers, experts).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(status.message().find(says), std::string_view::npos) << status.ToString();
  }

  template <typename T>
  void Write(const std::string& name, SafetensorsType type, const std::vector<T>& values,
             const std::string& format = "moe-expert-heat/1",
             std::vector<uint64_t> shape = {2, 3}) {
    const io::SafetensorsDeclaration tensor = {name, type, std::move(shape)};
    auto writer = io::SafetensorsWriter::Create(path_, {&tensor, 1}, {{"format", format}});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Append(std::as_bytes(std::span(values))).ok());
    ASSERT_TRUE((*writer)->Commit().ok());
  }
  void ExpectFile(const std::string& says, uint32_t layers = 2, uint32_t experts = 3) {
    const Status status = ReadHeatFile(path_, layers, experts).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << says;
    EXPECT_NE(status.message().find(says), std::string_view::npos) << status.ToString();
    EXPECT_EQ(status.message().find(path_), 0u) << status.ToString();
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "heat.safetensors";
};

TEST_F(HeatFileTest, WhatIsWrittenIsRead) {
  const UnitHeat heat = {2, 3, {0, 1.5, 2, 0, 1e18, 3}, 0, "counted in a test"};
  ASSERT_TRUE(WriteHeatFile(path_, heat).ok());
  for (const uint32_t layers : {0u, 2u}) {
    const auto read = ReadHeatFile(path_, layers, layers == 0 ? 0 : 3);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->layers, 2u);
    EXPECT_EQ(read->experts, 3u);
    EXPECT_EQ(read->heat, heat.heat);
    EXPECT_EQ(read->known, 4u);
    EXPECT_EQ(read->source, "counted in a test");
  }
  EXPECT_EQ(WriteHeatFile(path_, heat).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(WriteHeatFile(path_, heat, true).ok());
  ExpectFile("expected 3 layers x 3 experts, found 2 layers x 3 experts", 3);
  ExpectFile("expected 2 layers x 4 experts, found 2 layers x 3 experts", 2, 4);
}

TEST_F(HeatFileTest, NoHeatIsWrittenThatCannotBe) {
  EXPECT_FALSE(WriteHeatFile(path_, {2, 3, {1, 2}}).ok());
  EXPECT_FALSE(WriteHeatFile(path_, {1, 2, {1, -1}}).ok());
  EXPECT_FALSE(WriteHeatFile(path_, {1, 2, {1, NAN}}).ok());
  EXPECT_FALSE(WriteHeatFile(path_, {1, 2, {1, 1e300}}).ok());
  EXPECT_FALSE(WriteHeatFile(path_, {0, 0, {}}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(HeatFileTest, CountsAndRanks) {
  Write<int64_t>("counts", SafetensorsType::kI64, {5, 0, 7, 1, 1, 0});
  EXPECT_EQ(ReadHeatFile(path_, 2, 3)->heat, (std::vector<double>{5, 0, 7, 1, 1, 0}));
  EXPECT_EQ(ReadHeatFile(path_, 2, 3)->known, 4u);
  Write<float>("counts", SafetensorsType::kF32, {5, 0, 7, 1, 1, 0});
  EXPECT_EQ(ReadHeatFile(path_, 2, 3)->heat, (std::vector<double>{5, 0, 7, 1, 1, 0}));
  Write<float>("heat", SafetensorsType::kF32, {5, 0, 7, 1, 1, 0.5});
  EXPECT_EQ(ReadHeatFile(path_, 2, 3)->heat, (std::vector<double>{5, 0, 7, 1, 1, 0.5}));
  // Four ranked units, two that were not, two that share a rank.
  Write<int32_t>("ranks", SafetensorsType::kI32, {3, -1, 0, 1, -7, 1});
  EXPECT_EQ(ReadHeatFile(path_, 2, 3)->heat, (std::vector<double>{0.25, 0, 1, 0.75, 0, 0.75}));
  EXPECT_EQ(ReadHeatFile(path_, 2, 3)->known, 4u);
}

TEST_F(HeatFileTest, FilesThatAreNoHeat) {
  const std::vector<float> six(6, 1);
  Write("heat", SafetensorsType::kF32, six, "moe-routing-trace/1");
  ExpectFile("found 'moe-routing-trace/1'");
  Write("haet", SafetensorsType::kF32, six);
  ExpectFile("did you mean 'heat'?");
  Write("ranks", SafetensorsType::kF32, six);
  ExpectFile("ranks I32");
  Write("heat", SafetensorsType::kF32, six, "moe-expert-heat/1", {6});
  ExpectFile("[layers, experts]");
  Write<float>("heat", SafetensorsType::kF32, {}, "moe-expert-heat/1", {0, 3});
  ExpectFile("[layers, experts]");
  Write<float>("heat", SafetensorsType::kF32, {1, 1, 1, 1, -1, 1});
  ExpectFile("layer 1, expert 1");
  Write<double>("heat", SafetensorsType::kF64, {1, 1, INFINITY, 1, 1, 1});
  ExpectFile("layer 0, expert 2");
  Write<int32_t>("counts", SafetensorsType::kI32, {1, 1, 1, -1, 1, 1});
  ExpectFile("layer 1, expert 0");
  EXPECT_EQ(ReadHeatFile(directory_ / "none", 0, 0).status().code(), StatusCode::kNotFound);
}

TEST_F(HeatFileTest, TextHottestFirst) {
  for (const std::string head : {"", "layer,expert\n", "# of a test\nlayer,expert\n"}) {
    const auto heat = Text(head + "1,2\n0,0\r\n# a comment\n1,0\n0,1");
    ASSERT_TRUE(heat.ok()) << heat.status().ToString();
    EXPECT_EQ(heat->heat, (std::vector<double>{0.75, 0.25, 0, 0.5, 0, 1}));
    EXPECT_EQ(heat->known, 4u);
  }
  const auto open = Text("1,2\n3,0\n", 0, 0);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->layers, 4u);
  EXPECT_EQ(open->experts, 3u);
}

TEST_F(HeatFileTest, TextWithCounts) {
  for (const std::string head : {"", "layer,expert,count\n"}) {
    const auto heat = Text(head + "1,2,7\n0,0,2.5\n0,1,0\n");
    ASSERT_TRUE(heat.ok()) << heat.status().ToString();
    EXPECT_EQ(heat->heat, (std::vector<double>{2.5, 0, 0, 0, 0, 7}));
    EXPECT_EQ(heat->known, 2u);
  }
}

TEST_F(HeatFileTest, TextThatIsWrong) {
  ExpectText("", "says nothing");
  ExpectText("layer,expert\n", "says nothing");
  ExpectText("1,2\n1,2,3\n", "t:2: expected 'layer,expert'");
  ExpectText("1,2,3\n1,2\n", "t:2: expected 'layer,expert,count'");
  ExpectText("1,2\nlayer,expert\n", "t:2:");
  ExpectText("1,2\n\n", "t:2:");
  ExpectText("1;2\n", "t:1:");
  ExpectText("2,0\n", "t:1: layer 2, expected less than 2");
  ExpectText("1,3\n", "t:1: expert 3, expected less than 3");
  ExpectText("-1,0\n", "t:1:");
  ExpectText("1,2\n0,0\n1,2\n", "t:3: layer 1, expert 2 stands twice");
  ExpectText("1,2,-1\n", "count -1: expected 0 to 1e18");
  ExpectText("1,2,inf\n", "expected 0 to 1e18");
  ExpectText("1,2,nan\n", "expected 0 to 1e18");
  ExpectText("65535,1048575\n", "at most", 0, 0);
}

}  // namespace
}  // namespace berth
