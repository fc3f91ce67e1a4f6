// The command line: exit codes, one-line errors, JSON, tables.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/tools/command.h"
#include "runtime/tools/progress.h"
#include "runtime/tools/table.h"
#include "tests/io/gguf/test_files.h"

namespace berth::tools {
namespace {

using berth::testing::ReadFile;
using berth::testing::TempDir;

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran Berth(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "berth");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran ran;
  ran.code = RunCommandLine(static_cast<int>(argv.size()), argv.data());
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.err = ::testing::internal::GetCapturedStderr();
  return ran;
}

void ExpectRefused(const std::vector<std::string>& arguments, int code, const std::string& part) {
  const Ran ran = Berth(arguments);
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_TRUE(ran.err.starts_with("berth: ")) << ran.err;
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
}

std::string Data(const std::string& name) { return std::string(BERTH_TEST_DATA) + "/" + name; }

TEST(CommandLine, WrongRequests) {
  ExpectRefused({}, 2, "a command is missing");
  ExpectRefused({"inspct"}, 2, "did you mean 'inspect'?");
  ExpectRefused({"inspect"}, 2, "MODEL is required");
  ExpectRefused({"inspect", "x", "--jsn"}, 2, "did you mean '--json'?");
  ExpectRefused({"inspect", "/nonexistent.gguf"}, 2, "/nonexistent.gguf: No such file");
  ExpectRefused({"inspect", Data("tiny-qwen-like-00001-of-00003.gguf")}, 2,
                "shard 2 of 3 is missing");
  ExpectRefused({"verify", Data("tiny-gptoss-like.gguf")}, 2, "has no checksums");
  ExpectRefused({"verify", "x", "--write", "--source", "y"}, 2, "--source");
  ExpectRefused({"make-model", "/proc/self/x", "--layers", "1", "--experts", "1", "--top-k", "1",
                 "--hidden", "256", "--ffn", "256"},
                1, "/proc/self");
}

TEST(CommandLine, HelpAndVersion) {
  EXPECT_EQ(Berth({"--version"}).out, "berth 0.1.0\n");
  const Ran help = Berth({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"inspect", "make-model", "pack", "verify"}) {
    EXPECT_NE(help.out.find(command), std::string::npos);
    EXPECT_EQ(Berth({command, "--help"}).code, 0);
  }
}

TEST(CommandLine, InspectForPeopleAndMachines) {
  const TempDir dir;
  const std::string json_path = dir.File("m.json");
  const Ran people = Berth({"inspect", Data("tiny-gptoss-like.gguf"), "--json", json_path});
  EXPECT_EQ(people.code, 0) << people.err;
  EXPECT_NE(people.out.find("146,880"), std::string::npos) << people.out;
  EXPECT_NE(people.out.find("mxfp4 + mxfp4 + mxfp4"), std::string::npos);
  const Ran machines = Berth({"inspect", Data("tiny-gptoss-like.gguf"), "--json", "-"});
  EXPECT_EQ(machines.out, ReadFile(json_path));
  const nlohmann::json json = nlohmann::json::parse(machines.out);
  EXPECT_EQ(json["layers"], 2);
  EXPECT_EQ(json["conventions"]["activation"], "clamped-gate");
  EXPECT_EQ(json["layer_list"][1]["block"], 1);
  EXPECT_EQ(json["layer_list"][1]["types"]["down"], "mxfp4");
  EXPECT_EQ(json["layer_list"][1]["extents"][2]["stride"], 48960);
  EXPECT_EQ(json["size_classes"][0]["unit_bytes"], 146880);
}

TEST(CommandLine, MakePackVerify) {
  const TempDir dir;
  const std::string model = dir.File("m.gguf");
  const std::string pack = dir.File("p.gguf");
  const std::vector<std::string> make = {
      "make-model", model,      "--layers", "2",     "--experts", "4",       "--top-k",
      "2",          "--hidden", "256",      "--ffn", "256",       "--types", "q4_K+q6_K"};
  EXPECT_EQ(Berth(make).code, 0);
  ExpectRefused(make, 2, "exists already");
  EXPECT_EQ(Berth({"pack", model, pack}).code, 0);
  const Ran verified = Berth({"verify", pack, "--source", model});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_NE(verified.out.find("every byte as in the source"), std::string::npos) << verified.out;
  berth::testing::FlipByte(pack, std::filesystem::file_size(pack) / 2);
  ExpectRefused({"verify", pack, "--source", model}, 1, "1 of 8 units are wrong");
  EXPECT_EQ(Berth({"verify", model, "--write"}).code, 0);
  EXPECT_EQ(Berth({"verify", model}).code, 0);
}

TEST(Table, LinesUp) {
  Table table({{"name", Align::kLeft}, {"bytes"}});
  table.AddRow({"a", "1"});
  table.AddRow({"longer", "1,234,567"});
  table.AddRow({"x"});
  EXPECT_EQ(table.ToString(),
            "name        bytes\n"
            "------  ---------\n"
            "a               1\n"
            "longer  1,234,567\n"
            "x\n");
  Facts facts;
  facts.Add("a", "1");
  facts.Add("bcd", "2");
  EXPECT_EQ(facts.ToString(), "a    1\nbcd  2\n");
}

TEST(Progress, SaysHowFarAndHowLong) {
  EXPECT_EQ(ProgressBar::Line("packing", "", 500'000'000, 2'000'000'000, 2.0),
            "packing [######..................] 25 %  500 MB of 2.00 GB, 250 MB/s, 6 s left");
  EXPECT_EQ(ProgressBar::Line("replaying", "rows", 10, 10, 5.0),
            "replaying [########################] 100 %  10 of 10 rows, 2/s");
  EXPECT_EQ(ProgressBar::Line("x", "", 0, 0, 0.0),
            "x [########################] 100 %  0 B of 0 B");
}

}  // namespace
}  // namespace berth::tools
