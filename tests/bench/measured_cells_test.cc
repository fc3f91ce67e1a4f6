#include "bench/card/measured_cells.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "tests/temporary_directory.h"

namespace berth::bench {
namespace {

constexpr std::string_view kGood =
    "{\"pair\": \"IQ3_S+IQ4_NL\", \"rows\": 1, \"us_per_layer\": 31.3}\n"
    "\n"
    "{\"pair\": \"iq3_s+iq4_nl\", \"rows\": 4096, \"us_per_layer\": 12233, \"units\": 512}\r\n"
    "  {\"rows\": 1, \"us_per_layer\": 2e1, \"pair\": \"Q4_K+Q4_0\"}";

TEST(MeasuredCells, AreFoundByPairAndRows) {
  const Result<MeasuredCells> cells = MeasuredCells::Parse(kGood, "them");
  ASSERT_TRUE(cells.ok()) << cells.status().ToString();
  EXPECT_EQ(cells->size(), 3u);
  EXPECT_EQ(cells->Microseconds("IQ3_S+IQ4_NL", 1), 31.3);
  EXPECT_EQ(cells->Microseconds("IQ3_S+IQ4_NL", 4096), 12233);
  EXPECT_EQ(cells->Microseconds("q4_K+q4_0", 1), 20);
  EXPECT_EQ(cells->Microseconds("IQ3_S+IQ4_NL", 2), 0);
  EXPECT_EQ(cells->Microseconds("IQ2_S+Q2_0", 1), 0);
}

TEST(MeasuredCells, WhatIsNoCellIsRefusedWithItsLine) {
  struct Bad {
    const char* line;
    const char* says;
  };
  for (const Bad& bad : {
           Bad{"31.3", "no object"},
           Bad{"{\"pair\": \"A+B\", \"rows\": 1, \"us_per", "no object"},
           Bad{"GGML_CUDA: found 1 device", "no object"},
           Bad{"[]", "no object"},
           Bad{R"({"rows": 1, "us_per_layer": 3})", "\"pair\""},
           Bad{R"({"pair": 3, "rows": 1, "us_per_layer": 3})", "\"pair\""},
           Bad{R"({"pair": "IQ3_S", "rows": 1, "us_per_layer": 3})", "GATE_UP+DOWN"},
           Bad{R"({"pair": "+IQ3_S", "rows": 1, "us_per_layer": 3})", "GATE_UP+DOWN"},
           Bad{R"({"pair": "IQ3_S+", "rows": 1, "us_per_layer": 3})", "GATE_UP+DOWN"},
           Bad{R"({"pair": "A+B", "us_per_layer": 3})", "\"rows\""},
           Bad{R"({"pair": "A+B", "rows": 0, "us_per_layer": 3})", "\"rows\""},
           Bad{R"({"pair": "A+B", "rows": -1, "us_per_layer": 3})", "\"rows\""},
           Bad{R"({"pair": "A+B", "rows": 1.5, "us_per_layer": 3})", "\"rows\""},
           Bad{R"({"pair": "A+B", "rows": 4294967296, "us_per_layer": 3})", "\"rows\""},
           Bad{R"({"pair": "A+B", "rows": 1})", "\"us_per_layer\""},
           Bad{R"({"pair": "A+B", "rows": 1, "us_per_layer": 0})", "\"us_per_layer\""},
           Bad{R"({"pair": "A+B", "rows": 1, "us_per_layer": -3})", "\"us_per_layer\""},
           Bad{R"({"pair": "A+B", "rows": 1, "us_per_layer": "3"})", "\"us_per_layer\""},
           Bad{R"({"pair": "A+B", "rows": 1, "us_per_layer": 1e999})", ""},
           Bad{R"({"pair": "IQ3_s+iq4_NL", "rows": 1, "us_per_layer": 3})", "twice"},
       }) {
    const std::string text =
        std::string(kGood.substr(0, kGood.find('\n') + 1)) + bad.line + "\n" + "more";
    const Status refused = MeasuredCells::Parse(text, "them").status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << bad.line;
    for (const char* part : {bad.says, "them, line 2"}) {
      EXPECT_NE(refused.ToString().find(part), std::string::npos) << refused.ToString();
    }
  }
}

TEST(MeasuredCells, AFileWithoutCellsIsRefused) {
  for (const char* text : {"", "\n \n"}) {
    EXPECT_EQ(MeasuredCells::Parse(text, "them").status().code(), StatusCode::kInvalidArgument);
  }
  const berth::testing::TemporaryDirectory folder;
  EXPECT_EQ(MeasuredCells::Read(folder / "none").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(MeasuredCells::Read(folder.path().string()).ok());
  const std::string file = folder / "cells";
  std::ofstream(file) << kGood;
  const Result<MeasuredCells> cells = MeasuredCells::Read(file);
  ASSERT_TRUE(cells.ok()) << cells.status().ToString();
  EXPECT_EQ(cells->size(), 3u);
}

}  // namespace
}  // namespace berth::bench
