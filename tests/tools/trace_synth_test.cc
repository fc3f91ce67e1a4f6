// berth trace synth as people meet it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/trace/trace.h"
#include "tests/temporary_directory.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

class TraceSynthTest : public ::testing::Test {
 protected:
  Ran Synth(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"trace", "synth"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Berth(arguments, directory_.path().string());
  }
  std::string Path(const std::string& name) const { return (directory_.path() / name).string(); }
  std::string Bytes(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const TemporaryDirectory directory_;
  const std::vector<std::string> small_ = {"--layers", "2", "--experts",  "16", "--top-k", "2",
                                           "--passes", "9", "--requests", "3"};
};

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(TraceSynthTest, WritesATraceAndSaysItsSeed) {
  const Ran ran = Synth(small_ + std::vector<std::string>{"-o", "t", "--seed", "42"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(
      ran.out,
      "t: 45 rows of 3 requests, 2 layers, top 2 of 16, seed 42; replay it with --window 5\n");
  EXPECT_EQ(ran.err, "");
  const auto trace = TraceFile::Open(Path("t"));
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ((*trace)->info().rows, 45u);
  EXPECT_NE((*trace)->info().source.find("--seed 42"), std::string::npos);
}

TEST_F(TraceSynthTest, TheFileSaysHowToMakeItAgain) {
  ASSERT_EQ(Synth(small_ + std::vector<std::string>{"-o", "t", "--keep", "0.25", "--head", "0.5",
                                                    "--recall-1-ahead", "0.7"})
                .code,
            0);
  const auto trace = TraceFile::Open(Path("t"));
  ASSERT_TRUE(trace.ok());
  std::vector<std::string> words;
  std::string word;
  for (const char c : (*trace)->info().source + " ") {
    if (c != ' ') {
      word += c;
    } else {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  ASSERT_EQ(words.front(), "berth");
  words.erase(words.begin(), words.begin() + 3);
  ASSERT_EQ(Synth(words + std::vector<std::string>{"-o", "again"}).code, 0);
  EXPECT_EQ(Bytes("t"), Bytes("again"));
}

TEST_F(TraceSynthTest, ReplacesNothingUnasked) {
  std::ofstream(Path("t")) << "precious";
  const Ran ran = Synth(small_ + std::vector<std::string>{"-o", "t"});
  EXPECT_NE(ran.code, 0);
  EXPECT_NE(ran.err.find("--force"), std::string::npos) << ran.err;
  EXPECT_EQ(Bytes("t"), "precious");
  EXPECT_EQ(Synth(small_ + std::vector<std::string>{"-o", "t", "--force"}).code, 0);
  EXPECT_TRUE(TraceFile::Open(Path("t")).ok());
}

TEST_F(TraceSynthTest, BadFlagsAreOneLineAndLeaveNothing) {
  const auto with = [&](std::vector<std::string> more) {
    return Synth(std::vector<std::string>{"-o", "t"} + more);
  };
  ExpectOneLine(with({"--layers", "0"}), 2, "--layers 0: expected 1 to 4096");
  ExpectOneLine(with({"--layers", "-1"}), 2, "--layers");
  ExpectOneLine(with({"--keep", "1.5"}), 2, "--keep 1.5: expected 0 to 1");
  ExpectOneLine(with({"--keep", "nan"}), 2, "--keep");
  ExpectOneLine(with({"--sigma", "much"}), 2, "--sigma");
  ExpectOneLine(with({"--recall-2-ahead", "0.5"}), 2, "needs --recall-1-ahead");
  ExpectOneLine(Synth({"-o", "no/such/folder/t"}), 2, "no/such/folder");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

}  // namespace
}  // namespace berth::testing
