// Where results go: what must not be written over, and what must not be taken for written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/runtime/small_model.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Output : public ::testing::Test {
 protected:
  std::vector<std::string> Run(const std::string& json) const {
    return {"run", dir_ / "m.gguf", "--trace", dir_ / "t", "--arena", "64MB", "--json", json};
  }
  void SetUp() override {
    fs::copy_file(model_.gguf, dir_ / "m.gguf");
    fs::copy_file(model_.trace, dir_ / "t");
  }

  const SmallModel& model_ = SmallModel::Get();
  const TemporaryDirectory dir_;
};

TEST_F(Output, JsonDoesNotReplaceWhatIsRead) {
  for (const int n : {1, 2, 3}) {
    const std::string name = "s-0000" + std::to_string(n) + "-of-00003.gguf";
    fs::copy_file(fs::path(model_.split).parent_path() / name, dir_ / name);
  }
  ASSERT_EQ(Berth({"verify", dir_ / "m.gguf", "--write"}).code, 0);
  fs::create_symlink("m.gguf", dir_ / "link.gguf");
  std::ofstream(dir_ / "c.toml") << "chunk = 4\n";
  const auto refused = [&](std::vector<std::string> arguments, const std::string& part) {
    SCOPED_TRACE(arguments.back());
    const std::string before = ReadAll(arguments.back());
    ExpectOneLine(Berth(arguments), 2, part);
    EXPECT_EQ(ReadAll(arguments.back()), before);
  };
  const std::string model = "is a file of the model itself";
  const std::string input = "is an input of this very run";
  for (const char* name : {"m.gguf", "link.gguf", "m.gguf.berth-sums"}) {
    refused({"inspect", dir_ / "m.gguf", "--json", dir_ / name}, model);
    refused(Run(dir_ / name), model);
  }
  refused({"inspect", dir_ / "s", "--json", dir_ / "s-00002-of-00003.gguf"}, model);
  refused(Run(dir_ / "t"), input);
  std::vector<std::string> with_config = Run(dir_ / "c.toml");
  with_config.insert(with_config.begin() + 1, {"--config", dir_ / "c.toml"});
  refused(with_config, input);
  // A file that has nothing to do with it is replaced.
  EXPECT_EQ(Berth({"inspect", dir_ / "m.gguf", "--json", dir_ / "c.toml"}).code, 0);
  EXPECT_EQ(ReadAll(dir_ / "c.toml").front(), '{');
}

TEST_F(Output, PackDoesNotReplaceTheChecksumsOfItsModel) {
  ASSERT_EQ(Berth({"verify", dir_ / "m.gguf", "--write"}).code, 0);
  ExpectOneLine(Berth({"pack", dir_ / "m.gguf", dir_ / "m.gguf.berth-sums", "--force"}), 2,
                "is a file of the model itself");
  EXPECT_EQ(Berth({"verify", dir_ / "m.gguf"}).code, 0);
}

TEST_F(Output, APipeThatNobodyReads) {
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  for (const auto& arguments :
       {Run(dir_ / "pipe"),
        std::vector<std::string>{"inspect", dir_ / "m.gguf", "--json", dir_ / "pipe"}}) {
    ExpectOneLine(Berth(arguments), 2, "nobody reads");
  }
}

TEST_F(Output, APipeThatIsRead) {
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  const int reader = open((dir_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(Berth(Run(dir_ / "pipe")).code, 0);
  std::string got(1 << 16, '\0');
  got.resize(static_cast<size_t>(std::max<ssize_t>(0, read(reader, got.data(), got.size()))));
  close(reader);
  EXPECT_TRUE(got.starts_with("{"));
  EXPECT_TRUE(got.ends_with("}\n"));
}

TEST_F(Output, ALinkIsNamedBeforeTheWork) {
  fs::create_symlink("absent", dir_ / "dangling");
  ExpectOneLine(Berth(Run(dir_ / "dangling")), 2, "is a link");
  fs::create_symlink("loop", dir_ / "loop");
  ExpectOneLine(Berth(Run(dir_ / "loop")), 2, "loop");
}

TEST_F(Output, RequestsThatCannotBeMeant) {
  const std::string model = dir_ / "m.gguf";
  const std::vector<std::string> shape = {"--layers", "1",        "--experts", "2",     "--top-k",
                                          "1",        "--hidden", "256",       "--ffn", "256"};
  const auto make = [&](std::vector<std::string> first) {
    first.insert(first.begin(), "make-model");
    first.insert(first.end(), shape.begin(), shape.end());
    return Berth(first, dir_.path().string());
  };
  ExpectOneLine(Berth({"pack", model, ""}), 2, "the output's name is empty");
  ExpectOneLine(make({"", "--split", "2"}), 2, "the output's name is empty");
  ExpectOneLine(make({"", "--split", "1"}), 2, "the output's name is empty");
  ExpectOneLine(Berth({"inspect", ""}), 2, "the name of a file is empty");
  ExpectOneLine(Berth({"inspect", model, "--json", ""}), 2, "the name is empty");
  ExpectOneLine(Berth({"verify", model, "--source", model, "--force"}), 2, "--write");
  fs::create_symlink("circle", dir_ / "circle");
  ExpectOneLine(Berth({"inspect", dir_ / "circle"}), 2, "circle");
  ExpectOneLine(Berth({"pack", model, dir_ / "circle/p.gguf"}), 2, "circle");
  // The advice that an unknown architecture brings can be followed.
  ExpectOneLine(make({"new.gguf", "--arch", "brandnewmoe"}), 2, "--conventions");
  EXPECT_EQ(make({"new.gguf", "--arch", "brandnewmoe", "--conventions", "squared-relu"}).code, 0);
  const Ran read = Berth({"inspect", dir_ / "new.gguf", "--conventions", "squared-relu"});
  EXPECT_EQ(read.code, 0) << read.err;
}

TEST_F(Output, AStandardOutputThatTakesNothing) {
  const std::vector<std::vector<std::string>> all = {
      {"--help"},
      {"--version"},
      {"run", "--help"},
      {"inspect", dir_ / "m.gguf"},
      {"inspect", dir_ / "m.gguf", "--json", "-"},
      {"verify", dir_ / "m.gguf", "--source", dir_ / "m.gguf"},
      {"pack", dir_ / "m.gguf", "p.gguf", "--force"},
      {"make-model", "n.gguf", "--layers", "1", "--experts", "2", "--top-k", "1", "--hidden", "256",
       "--ffn", "256", "--force"},
      Run("-"),
      {"run", dir_ / "m.gguf", "--trace", dir_ / "t", "--arena", "64MB"}};
  for (const auto& arguments : all) {
    SCOPED_TRACE(arguments[0] + " " + arguments.back());
    const Ran full = Berth(arguments, dir_.path().string(), "exec > /dev/full");
    ExpectOneLine(full, 1, "standard output: No space left on device");
    const Ran closed = Berth(arguments, dir_.path().string(), "exec >&-");
    ExpectOneLine(closed, 1, "standard output: Bad file descriptor");
  }
}

}  // namespace
}  // namespace berth::testing
