// berth trace as people meet it: what it prints and writes, and how it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/trace/heat_file.h"
#include "runtime/trace/trace.h"
#include "tests/temporary_directory.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

namespace fs = std::filesystem;

const std::string kDemo = std::string(BERTH_TEST_DATA) + "/moe-128x8-demo.trace";

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class TraceCommand : public ::testing::Test {
 protected:
  Ran Trace(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "trace");
    return Berth(arguments, folder_.path().string());
  }
  std::string ExpectOk(const std::vector<std::string>& arguments) const {
    const Ran ran = Trace(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }
  // One line and nothing written, in an empty folder.
  void ExpectWrong(std::vector<std::string> arguments, int code, const std::string& part) const {
    const TemporaryDirectory empty;
    arguments.insert(arguments.begin(), "trace");
    SCOPED_TRACE(arguments.back() + ": " + part);
    ExpectOneLine(Berth(arguments, empty.path().string()), code, part);
    EXPECT_TRUE(fs::is_empty(empty.path()));
  }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  const TemporaryDirectory folder_;
};

TEST_F(TraceCommand, Info) {
  const std::string out = ExpectOk({"info", kDemo, "--json", "info.json"});
  for (const char* part : {"8 layers x 128 experts, top-8", "1,504 of 8 requests", "Gini",
                           "requests side by side", "entropy (bits)"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\n" << out;
  }
  const auto json = nlohmann::json::parse(ReadAll(*this / "info.json"));
  EXPECT_EQ(json["rows"], 1504);
  EXPECT_EQ(json["lookups"], 1504 * 8 * 8);
  EXPECT_EQ(json["union_rows"].size(), 8u);
  EXPECT_EQ(json["union_rows"][0], 8.0);
  EXPECT_GT(json["skew"]["hottest_10_percent"]["median"], 0.1);
  EXPECT_EQ(nlohmann::json::parse(ExpectOk({"info", kDemo, "--json", "-"})), json);
}

TEST_F(TraceCommand, CutProfileAndExport) {
  ExpectOk(
      {"cut", kDemo, "-o", "c.trace", "--layers", "2-3", "--requests", "3,0-1", "--rows", "20"});
  auto cut = TraceFile::Open(*this / "c.trace");
  ASSERT_TRUE(cut.ok()) << cut.status().ToString();
  EXPECT_EQ((*cut)->info().request_rows, (std::vector<uint32_t>{20, 20, 20}));
  EXPECT_EQ((*cut)->info().layer_ids, (std::vector<uint32_t>{2, 3}));
  ExpectOk({"profile", "c.trace", "-o", "heat", "--requests", "1-2"});
  const auto heat = ReadHeatFile(*this / "heat", 2, 128);
  ASSERT_TRUE(heat.ok()) << heat.status().ToString();
  double sum = 0;
  for (const double each : heat->heat) sum += each;
  EXPECT_EQ(sum, 2 * 20 * 2 * 8);
  EXPECT_NE(heat->source.find("requests 1-2"), std::string::npos);
  ExpectOk({"export", "c.trace", "--to", "oracle-general", "-o", "o.bin"});
  EXPECT_EQ(fs::file_size(*this / "o.bin"), 60u * 2 * 8 * 24);
  ExpectOk({"export", "c.trace", "--to", "access-csv", "-o", "a.csv"});
  ExpectOk({"import", "a.csv", "-o", "again.trace", "--top-k", "8", "--experts", "128"});
  EXPECT_EQ((*TraceFile::Open(*this / "again.trace"))->info().rows, 60u);
}

TEST_F(TraceCommand, ImportSaysWhatTheDeviceRecorded) {
  WriteAll(*this / "r.csv",
           "# route_trace v1\n"
           "# model=/m.gguf arch=a n_layer=2 n_expert=8 n_expert_used=1\n"
           "# layer=0 expert_bytes=1000000 dense_bytes=5\n"
           "# layer=1 expert_bytes=500000 dense_bytes=5\n"
           "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n"
           "0,0,0,0,0,7,1,0,1000000\n0,0,1,0,0,7,1,0,0\n0,0,0,1,0,2,1,0,500000\n"
           "0,0,1,1,0,3,1,0,500000\n0,1,2,0,0,7,1,1,0\n0,1,2,1,0,5,1,0,500000\n");
  const std::string out = ExpectOk({"import", "r.csv", "-o", "t"});
  for (const char* part : {"route-csv", "3 in 1 requests", "20.00 % (1 of 5)", "50.00 % (1 of 2)",
                           "16.67 % (1 of 6)", "12.0 MB, stated by the file", "2.50 MB"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\n" << out;
  }
}

TEST_F(TraceCommand, TracesThatAreWrong) {
  const std::string bytes = ReadAll(kDemo);
  WriteAll(*this / "cut", bytes.substr(0, bytes.size() - 7));
  WriteAll(*this / "text", "once upon a time\n");
  std::string wild = bytes;  // an id beyond the experts, in the last row
  wild[wild.size() - 5] = '\xc0';
  WriteAll(*this / "wild", wild);
  const struct {
    std::string file;
    int code;
    std::string part;
  } bad[] = {{*this / "cut", 1, "cut"},
             {*this / "text", 2, "text"},
             {*this / "wild", 2, "expert id 192, but the trace has 128"},
             {"/nowhere", 2, "/nowhere"},
             {folder_.path().string(), 2, folder_.path().string()}};
  for (const auto& each : bad) {
    ExpectWrong({"info", each.file, "--json", "j"}, each.code, each.part);
    ExpectWrong({"cut", each.file, "-o", "o"}, each.code, each.part);
    ExpectWrong({"profile", each.file, "-o", "o"}, each.code, each.part);
    for (const char* format : {"libcachesim-csv", "oracle-general", "access-csv"}) {
      ExpectWrong({"export", each.file, "--to", format, "-o", "o"}, each.code, each.part);
    }
    if (each.file == *this / "text") {
      ExpectWrong({"import", each.file, "-o", "o"}, 2, "say --format");
      ExpectWrong({"import", each.file, "-o", "o", "--format", "npy"}, 2, "no .npy file");
      ExpectWrong({"import", each.file, "-o", "o", "--format", "route-csv"}, 2, "text:1");
      ExpectWrong({"import", each.file, "-o", "o", "--format", "access-csv"}, 2, "text:1");
      ExpectWrong({"import", each.file, "-o", "o", "--format", "dump", "--top-k", "2"}, 1,
                  "whole number of records");
    }
  }
}

TEST_F(TraceCommand, RequestsThatAreWrong) {
  ExpectWrong({}, 2, "trace: a command is missing");
  ExpectWrong({"inf"}, 2, "did you mean 'info'?");
  ExpectWrong({"info"}, 2, "trace info: TRACE is required");
  ExpectWrong({"info", kDemo, "--jsn", "x"}, 2, "did you mean '--json'?");
  ExpectWrong({"cut", kDemo}, 2, "--output");
  ExpectWrong({"cut", kDemo, "-o", "o", "--layers", "3-9"}, 2, "layer 8, but the trace has 0 to 7");
  ExpectWrong({"cut", kDemo, "-o", "o", "--layers", "1,3"}, 2, "one range");
  ExpectWrong({"cut", kDemo, "-o", "o", "--layers", "5-3"}, 2, "--layers 5-3");
  ExpectWrong({"cut", kDemo, "-o", "o", "--requests", "8"}, 2, "request 8");
  ExpectWrong({"cut", kDemo, "-o", "o", "--requests", "1,0-2"}, 2, "request 1 is named twice");
  ExpectWrong({"cut", kDemo, "-o", "o", "--requests", "1,,2"}, 2, "--requests 1,,2");
  ExpectWrong({"cut", kDemo, "-o", "o", "--first-row", "188"}, 2, "--first-row 188");
  ExpectWrong({"cut", kDemo, "-o", "/nowhere/o"}, 2, "/nowhere");
  ExpectWrong({"profile", kDemo, "-o", "o", "--requests", "0-99"}, 2,
              "request 8, but the trace has 0 to 7");
  ExpectWrong({"export", kDemo, "-o", "o", "--to", "oracle-generl"}, 2,
              "did you mean 'oracle-general'?");
  ExpectWrong({"export", kDemo, "-o", "o", "--to", "oracle-general", "--unit-bytes"}, 2,
              "does not state its units' bytes");
  ExpectWrong({"import", "-o", "o"}, 2, "FILES");
  ExpectWrong({"import", "/nowhere.npy", "-o", "o"}, 2, "/nowhere.npy");
  ExpectWrong({"import", kDemo, "-o", "o", "--format", "nyp"}, 2, "did you mean 'npy'?");
  ExpectWrong({"import", kDemo, "-o", "o", "--none", "x"}, 2, "--none x");
}

TEST_F(TraceCommand, NothingIsReplacedUnasked) {
  fs::copy_file(kDemo, folder_.path() / "t");
  WriteAll(*this / "o", "mine");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"cut", "t", "-o", "o"},
        {"profile", "t", "-o", "o"},
        {"export", "t", "--to", "access-csv", "-o", "o"}}) {
    ExpectOneLine(Trace(arguments), 2, "--force");
    EXPECT_EQ(ReadAll(*this / "o"), "mine");
    std::vector<std::string> itself = arguments;
    itself[itself.size() - 1] = "t";
    itself.push_back("--force");
    ExpectOneLine(Trace(itself), 2, "name another output");
    EXPECT_TRUE(ReadAll(*this / "t") == ReadAll(kDemo));
  }
  ExpectOk({"profile", "t", "-o", "o", "--force"});
  EXPECT_NE(ReadAll(*this / "o"), "mine");
}

}  // namespace
}  // namespace berth::testing
