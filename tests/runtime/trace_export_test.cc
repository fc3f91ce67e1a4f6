#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "berth/types.h"
#include "runtime/trace/export.h"
#include "runtime/trace/import/import.h"
#include "runtime/trace/memory_trace.h"
#include "runtime/trace/profile.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using testing::TemporaryDirectory;

struct Access {
  uint32_t row;
  uint32_t layer;
  uint64_t unit;
};

// Random routing with holes, and its accesses in order.
struct Random {
  std::unique_ptr<TraceFile> trace;
  std::vector<Access> accesses;
};
Random MakeRandom(uint64_t rows) {
  TraceData data;
  data.info.layers = 3;
  data.info.experts = 7;
  data.info.top_k = 2;
  data.info.rows = rows;
  data.info.request_rows = {static_cast<uint32_t>(rows) - 1, 1};
  data.info.layer_unit_bytes = {10, 20, 30};
  Random made;
  std::minstd_rand random(3);
  for (uint64_t i = 0; i < rows * 6; ++i) {
    const auto id = static_cast<int16_t>(random() % 8) - 1;
    data.experts.push_back(static_cast<int16_t>(id));
    const auto layer = static_cast<uint32_t>(i % 6 / 2);
    if (id != kNoExpert) {
      made.accesses.push_back(
          {static_cast<uint32_t>(i / 6), layer, uint64_t{layer} * 7 + static_cast<uint64_t>(id)});
    }
  }
  made.trace = *MakeMemoryTrace(std::move(data));
  return made;
}

class ExportTest : public ::testing::Test {
 protected:
  std::string Bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "out";
};

// What comes next, by looking for it.
TEST_F(ExportTest, OracleGeneralByBruteForce) {
  for (const bool unit_bytes : {false, true}) {
    const Random random = MakeRandom(300);
    const auto report = ExportTrace(
        random.trace.get(),
        {.format = ExportFormat::kOracleGeneral, .unit_bytes = unit_bytes, .replace = true}, path_);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->accesses, random.accesses.size());
    EXPECT_EQ(report->objects, 21u);
    const std::string bytes = Bytes();
    ASSERT_EQ(bytes.size(), random.accesses.size() * 24);
    for (size_t i = 0; i < random.accesses.size(); ++i) {
      const Access& access = random.accesses[i];
      uint32_t time, size;
      uint64_t object;
      int64_t next;
      std::memcpy(&time, bytes.data() + i * 24, 4);
      std::memcpy(&object, bytes.data() + i * 24 + 4, 8);
      std::memcpy(&size, bytes.data() + i * 24 + 12, 4);
      std::memcpy(&next, bytes.data() + i * 24 + 16, 8);
      int64_t expected = -1;
      for (size_t j = i + 1; j < random.accesses.size() && expected < 0; ++j) {
        if (random.accesses[j].unit == access.unit) expected = static_cast<int64_t>(j) + 1;
      }
      ASSERT_EQ(next, expected) << i;
      ASSERT_EQ(object, access.unit);
      ASSERT_EQ(time, access.row);
      ASSERT_EQ(size, unit_bytes ? 10 * (access.layer + 1) : 1);
    }
  }
}

// More rows than a block of the backward pass holds.
TEST_F(ExportTest, OracleGeneralInBlocks) {
  const Random random = MakeRandom(100000);
  ASSERT_TRUE(
      ExportTrace(random.trace.get(), {.format = ExportFormat::kOracleGeneral}, path_).ok());
  const std::string bytes = Bytes();
  ASSERT_EQ(bytes.size(), random.accesses.size() * 24);
  std::vector<int64_t> next(21, -1);
  for (size_t i = random.accesses.size(); i-- > 0;) {
    int64_t stated;
    std::memcpy(&stated, bytes.data() + i * 24 + 16, 8);
    ASSERT_EQ(stated, next[random.accesses[i].unit]) << i;
    next[random.accesses[i].unit] = static_cast<int64_t>(i) + 1;
  }
}

TEST_F(ExportTest, CsvLines) {
  const Random random = MakeRandom(50);
  ASSERT_TRUE(ExportTrace(random.trace.get(), {}, path_).ok());
  std::istringstream lines(Bytes());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "time,object,size");
  for (const Access& access : random.accesses) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line, std::to_string(access.row) + "," + std::to_string(access.unit) + ",1");
  }
  EXPECT_FALSE(std::getline(lines, line));
}

// A row whose first layer routes to nobody looks like more of the row before: none here.
TEST_F(ExportTest, AccessCsvIsImportedAgain) {
  TraceData data;
  data.info.layers = 2;
  data.info.experts = 9;
  data.info.top_k = 2;
  data.info.rows = 3;
  data.info.request_rows = {3};
  data.info.layer_ids = {4, 6};
  data.experts = {0, 1, 2, 8, 4, 5, 7, -1, 0, -1, 2, 3};
  const std::vector<int16_t> expected = data.experts;
  auto trace = MakeMemoryTrace(data);
  ASSERT_TRUE(ExportTrace(trace->get(), {.format = ExportFormat::kAccessCsv}, path_).ok());
  const std::string files[] = {path_};
  ASSERT_TRUE(ImportTrace(files, {}, directory_ / "again").ok());
  auto again = LoadMemoryTrace(directory_ / "again");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ((*again)->info().layer_ids, data.info.layer_ids);
  for (uint64_t row = 0; row < 3; ++row) {
    const auto ids = *(*again)->Experts(row);
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), expected.begin() + row * 4)) << row;
  }
}

TEST_F(ExportTest, WhatCannotBe) {
  Random random = MakeRandom(10);
  ASSERT_TRUE(ExportTrace(random.trace.get(), {}, path_).ok());
  EXPECT_EQ(ExportTrace(random.trace.get(), {}, path_).status().code(),
            StatusCode::kFailedPrecondition);
  TraceData data;
  data.info.layers = data.info.top_k = 1;
  data.info.experts = 2;
  data.info.rows = 1;
  data.info.request_rows = {1};
  data.experts = {kNoExpert};
  const std::string none = directory_ / "none";
  EXPECT_FALSE(ExportTrace(MakeMemoryTrace(data)->get(), {}, none).ok());
  data.experts = {1};
  EXPECT_EQ(ExportTrace(MakeMemoryTrace(data)->get(), {.unit_bytes = true}, none).status().code(),
            StatusCode::kFailedPrecondition);
  data.info.layer_unit_bytes = {1ull << 32};
  EXPECT_EQ(ExportTrace(MakeMemoryTrace(data)->get(), {.unit_bytes = true}, none).status().code(),
            StatusCode::kOutOfRange);
  EXPECT_FALSE(std::filesystem::exists(none));
}

TEST_F(ExportTest, DeepSeekHasItsAccesses) {
  const std::string whole =
      std::string(BERTH_SHARED_DATA) + "/traces/deepseek-v2-lite-64x26-top6.safetensors";
  if (!std::filesystem::exists(whole)) GTEST_SKIP() << "the trace is not at hand";
  auto trace = TraceFile::Open(whole);
  const auto report = ExportTrace(trace->get(), {.format = ExportFormat::kOracleGeneral}, path_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->accesses, 2569788u);
  EXPECT_EQ(std::filesystem::file_size(path_), 2569788u * 24);
}

TEST(ProfileTest, CountsTheRequestsAskedFor) {
  TraceData data;
  data.info.layers = 2;
  data.info.experts = 3;
  data.info.top_k = 2;
  data.info.rows = 3;
  data.info.request_rows = {1, 1, 1};
  data.experts = {0, 1, 2, -1, 0, 2, 2, 1, 1, 1, 0, 0};
  auto trace = MakeMemoryTrace(data);
  const uint32_t all[] = {0, 1, 2};
  const auto heat = CountHeat(trace->get(), all);
  ASSERT_TRUE(heat.ok());
  EXPECT_EQ(heat->heat, (std::vector<double>{2, 3, 1, 2, 1, 2}));
  EXPECT_EQ(heat->known, 6u);
  const uint32_t some[] = {2, 0};
  EXPECT_EQ(CountHeat(trace->get(), some)->heat, (std::vector<double>{1, 3, 0, 2, 0, 1}));
  EXPECT_EQ(CountHeat(trace->get(), some)->known, 4u);
  const uint32_t beyond[] = {3};
  EXPECT_EQ(CountHeat(trace->get(), beyond).status().code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace berth
