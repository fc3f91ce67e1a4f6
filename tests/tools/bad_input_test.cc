// Whatever is wrong with the input: one line, exit 2 or 1, and nothing written.
#include <gtest/gtest.h>

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
void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class BadInput : public ::testing::Test {
 protected:
  // The command in an empty folder, which must be empty afterwards.
  void Expect(const std::vector<std::string>& arguments, int code, const std::string& part,
              const std::string& before = "") {
    std::string line = "berth";
    for (const std::string& argument : arguments) line += " " + argument;
    SCOPED_TRACE(line);
    const TemporaryDirectory folder;
    ExpectOneLine(Berth(arguments, folder.path().string(), before), code, part);
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }

  void ExpectRun(std::vector<std::string> more, int code, const std::string& part) {
    std::vector<std::string> arguments = {"run",     model_.gguf, "--trace", model_.trace,
                                          "--arena", "64MB",      "--json",  "out.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Expect(arguments, code, part);
  }
  // Every command that reads a model refuses it in the same way.
  void ExpectModel(const std::string& path, int code, const std::string& part) {
    Expect({"inspect", path, "--json", "out.json"}, code, part);
    Expect({"run", path, "--trace", model_.trace, "--json", "out.json"}, code, part);
    Expect({"pack", path, "p.gguf"}, code, part);
    Expect({"verify", path, "--write"}, code, part);
  }

  const SmallModel& model_ = SmallModel::Get();
  const TemporaryDirectory inputs_;
};

TEST_F(BadInput, FilesThatAreNoModel) {
  ExpectModel("/nowhere/m.gguf", 2, "/nowhere/m.gguf");
  ExpectModel(inputs_.path().string(), 2, inputs_.path().string());
  WriteAll(inputs_ / "empty.gguf", "");
  ExpectModel(inputs_ / "empty.gguf", 2, "empty.gguf");
  WriteAll(inputs_ / "text.gguf", "once upon a time there was a file that was no model\n");
  ExpectModel(inputs_ / "text.gguf", 2, "text.gguf");
  ExpectModel(model_.trace, 2, model_.trace);
  // A header whose counts are beyond anything.
  ExpectModel(
      [&] {
        std::string bytes = "GGUF";
        bytes += std::string("\3\0\0\0", 4) + std::string(16, '\x7f') + std::string(64, '\0');
        WriteAll(inputs_ / "huge.gguf", bytes);
        return inputs_ / "huge.gguf";
      }(),
      2, "huge.gguf");
}

TEST_F(BadInput, ModelsThatWereCutShort) {
  const std::string bytes = ReadAll(model_.gguf);
  const size_t info = bytes.find("blk.1.ffn_down_exps.weight");
  ASSERT_NE(info, std::string::npos);
  for (const size_t length : {size_t{3}, size_t{4}, size_t{23}, size_t{60}, info + 10,
                              bytes.size() / 2, bytes.size() - 1}) {
    SCOPED_TRACE(length);
    WriteAll(inputs_ / "cut.gguf", bytes.substr(0, length));
    // Of three bytes nobody can say that they were the beginning of a model.
    ExpectModel(inputs_ / "cut.gguf", length < 4 ? 2 : 1, "cut.gguf");
  }
  // An expert tensor of a type that nobody knows: name, dimensions, then the type.
  std::string unknown = bytes;
  const size_t type = info + std::string("blk.1.ffn_down_exps.weight").size() + 4 + 3 * 8;
  unknown[type] = '\x63';
  WriteAll(inputs_ / "type.gguf", unknown);
  ExpectModel(inputs_ / "type.gguf", 2, "99");
}

TEST_F(BadInput, ShardsThatAreMissingOrStrangers) {
  const fs::path folder = fs::path(model_.split).parent_path();
  const auto shard = [](int n) { return "s-0000" + std::to_string(n) + "-of-00003.gguf"; };
  for (const int n : {1, 2, 3}) fs::copy_file(folder / shard(n), inputs_.path() / shard(n));
  const std::string first = inputs_ / shard(1);
  EXPECT_EQ(Berth({"inspect", first, "--json", "-"}).code, 0);
  fs::remove(inputs_.path() / shard(2));
  ExpectModel(first, 2, "shard 2 of 3 is missing");
  ExpectModel(inputs_ / shard(3), 2, "shard 2 of 3 is missing");
  // Shard 3 in the place of shard 2, and one of a model of another shape.
  fs::copy_file(folder / shard(3), inputs_.path() / shard(2));
  ExpectModel(first, 2, shard(2));
  const TemporaryDirectory other;
  ASSERT_EQ(Berth({"make-model", other / "s", "--layers", "3", "--experts", "8", "--top-k", "2",
                   "--hidden", "256", "--ffn", "64", "--split", "3"})
                .code,
            0);
  fs::copy_file(other / shard(2), inputs_.path() / shard(2), fs::copy_options::overwrite_existing);
  const Ran stranger = Berth({"inspect", first});
  ExpectOneLine(stranger, 2, "");
  WriteAll(inputs_ / shard(2), "GGUF");
  ExpectModel(first, 1, shard(2));
}

TEST_F(BadInput, TracesThatDoNotBelong) {
  const auto trace = [&](const TraceShape& shape) {
    WriteTrace(inputs_ / "t.safetensors", shape);
    return std::vector<std::string>{"--trace", inputs_ / "t.safetensors"};
  };
  const auto run = [&](const std::string& path, int code, const std::string& part) {
    Expect({"run", model_.gguf, "--trace", path, "--json", "out.json"}, code, part);
  };
  run(trace({.layers = 2})[1], 2, "do not belong together");
  run(trace({.experts = 12})[1], 2, "12 experts");
  run(trace({.top_k = 3})[1], 2, "do not belong together");
  // An id that the model does not have, deep inside.
  std::string bytes = ReadAll(model_.trace);
  const size_t header = 8 + static_cast<uint8_t>(bytes[0]) + 256u * static_cast<uint8_t>(bytes[1]);
  const size_t begin = bytes.find("\"experts\":{");
  ASSERT_NE(begin, std::string::npos);
  const size_t offsets = bytes.find("data_offsets\":[", begin);
  const size_t data = header + std::stoul(bytes.substr(offsets + 15));
  bytes[data + 20 * kLayers * kTopK] = static_cast<char>(kExperts);
  WriteAll(inputs_ / "id.safetensors", bytes);
  run(inputs_ / "id.safetensors", 2, "24");
  WriteAll(inputs_ / "cut.safetensors", bytes.substr(0, bytes.size() - 5));
  run(inputs_ / "cut.safetensors", 1, "cut.safetensors");
  run("/nowhere.safetensors", 2, "/nowhere.safetensors");
  run(model_.gguf, 2, model_.gguf);
}

TEST_F(BadInput, SizesThatDoNotFit) {
  ExpectRun({"--arena", "1MB"}, 2, "");  // given twice
  const auto run = [&](std::vector<std::string> more, int code, const std::string& part) {
    std::vector<std::string> arguments = {"run",        model_.gguf, "--trace",
                                          model_.trace, "--json",    "out.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Expect(arguments, code, part);
  };
  const std::string least = std::to_string(model_.minimum_arena);
  run({"--arena", "4KB"}, 2, "raise --arena to at least " + least);
  run({"--arena", std::to_string(model_.minimum_arena - 1)}, 2, least);
  run({"--arena", "64MB", "--ring", "2000000000"}, 1, "lower --ring");
  run({"--memory", "1MB", "--arena", "2MB"}, 1, "host:0");
  run({"--arena", "99999999999999999999999GB"}, 2, "--arena");
  run({"--arena", "-5"}, 2, "--arena");
  run({"--arena", "five"}, 2, "--arena");
  run({"--device", "host:0", "--device", "host:0"}, 2, "given twice");
  run({"--device", "host:0", "--device", "host:00"}, 2, "host:00");
  run({"--device", "host:x"}, 2, "host:x");
  run({"--device", "cuda:4000"}, 2, "cuda");
  run({"--device", "host:0", "--device", "host:1", "--arena", "1MB", "--arena", "1MB", "--arena",
       "1MB"},
      2, "3 times for 2 cards");
}

TEST_F(BadInput, FlagsThatAreNotKnown) {
  ExpectRun({"--arna", "1GB"}, 2, "did you mean '--arena'?");
  ExpectRun({"--polcy=lru"}, 2, "did you mean '--policy'?");
  ExpectRun({"--policy", "lur"}, 2, "did you mean 'lru'?");
  ExpectRun({"--policy", "lfu:decoy=0.5"}, 2, "decay");
  ExpectRun({"--host-policy", "foo"}, 2, "--host-policy");
  ExpectRun({"--host-policy", "lur"}, 2, "did you mean 'lru'?");
  ExpectRun({"--host-policy", "lfu:decoy=0.5"}, 2, "decay");
  ExpectRun({"--host-tier-mode", "inclusiv"}, 2, "did you mean 'inclusive'?");
  ExpectRun({"--host-tier-mode", "exclusive"}, 2, "--host-tier");
  ExpectRun({"--slots", "perlayer"}, 2, "did you mean 'per-layer'?");
  ExpectRun({"--placement", "epp"}, 2, "did you mean 'ep'?");
  ExpectRun({"--miss", "hots"}, 2, "did you mean 'host'?");
  ExpectRun({"--miss", "inplace"}, 2, "did you mean 'in-place'?");
  ExpectRun({"--io", "telepathy"}, 2, "telepathy");
  ExpectRun({"--chunk", "0"}, 2, "--chunk");
  ExpectRun({"--chunk", "4294967296"}, 2, "--chunk");
  ExpectRun({"--chunk", "1.5"}, 2, "--chunk");
  ExpectRun({"--streams", "0"}, 2, "--streams");
  ExpectRun({"--threads", "4294967295"}, 2, "at most 1024");  // and no place is looked for each
  ExpectRun({"--sweep-share", "1.5"}, 2, "--sweep-share");
  ExpectRun({"--profile", "/nowhere.json"}, 2, "/nowhere.json");
  ExpectRun({"--config", "/nowhere.toml"}, 2, "/nowhere.toml");
  ExpectRun({"surplus"}, 2, "surplus");
  Expect({"run"}, 2, "MODEL");
  Expect({"run", model_.gguf}, 2, "--trace");
  Expect({"rum"}, 2, "did you mean 'run'?");
}

TEST_F(BadInput, WholeNumbersAreDecimalAndInRange) {
  for (const char* flag : {"--ring", "--chunk", "--sweep-rows", "--streams", "--window", "--passes",
                           "--threads", "--seed"}) {
    for (const char* value : {"-1", "18446744073709551616", "0x8", "1e3", "+5", " 5", "5 "}) {
      ExpectRun({flag, value}, 2,
                std::string(flag) + " " + value + ": expected a whole number from ");
    }
    ExpectRun({flag, ""}, 2, std::string(flag) + " '': expected a whole number from ");
  }
  ExpectRun({"--chunk", "-1"}, 2, "--chunk -1: expected a whole number from 1 to 4294967295");
  ExpectRun({"--passes", "-1"}, 2, "from 0 to 18446744073709551615");
  for (const char* seed : {"-1", "", "18446744073709551616"}) {
    Expect({"make-model", "m.gguf", "--layers", "2", "--experts", "8", "--top-k", "2", "--hidden",
            "256", "--ffn", "64", "--seed", seed},
           2, "--seed ");
  }
  // 010 is ten: with 8 the trace of 14 passes would be cut to that.
  const Ran ran =
      Berth({"run", model_.gguf, "--trace", model_.trace, "--passes", "010", "--json", "-"});
  EXPECT_NE(ran.out.find("\"passes\": 10,"), std::string::npos) << ran.out << ran.err;
}

TEST_F(BadInput, ConfigFilesSayFileAndLine) {
  const auto config = [&](const std::string& text, const std::string& part) {
    WriteAll(inputs_ / "berth.toml", text);
    ExpectRun({"--config", inputs_ / "berth.toml"}, 2, part);
  };
  config("chunk = 4\npolicy = \"lru\"\nchnk = 8\n", "berth.toml:3: ");
  config("chnk = 8\n", "chunk");
  config("chunk = \"many\"\n", "berth.toml:1: ");
  config("# a comment\nchunk = -1\n", "berth.toml:2: ");
  config("chunk = 4294967296\n", "berth.toml:1: ");
  config("chunk = 4\nchunk = 5\n", "berth.toml:2: ");
  config("chunk = \n", "berth.toml:1");
  config("[run]\nchunk = 4\n", "berth.toml:");
  config("policy = [\"lru\", \"lfu\"]\n", "berth.toml:1: ");
  config("host-tier-mode = \"sideways\"\n", "sideways");
}

TEST_F(BadInput, ADashIsNoOutputFile) {
  const std::string part = "-: this is written to files only";
  Expect({"trace", "cut", model_.trace, "-o", "-"}, 2, part);
  Expect({"trace", "profile", model_.trace, "-o", "-"}, 2, part);
  Expect({"trace", "export", model_.trace, "--to", "access-csv", "-o", "-"}, 2, part);
  Expect({"trace", "export", model_.trace, "--to", "oracle-general", "-o", "-"}, 2, part);
  Expect({"trace", "synth", "--layers", "2", "--experts", "8", "--top-k", "2", "-o", "-"}, 2, part);
  Expect({"pack", model_.gguf, "-"}, 2, part);
  Expect({"make-model", "-", "--layers", "1", "--experts", "4", "--top-k", "1", "--hidden", "256",
          "--ffn", "256"},
         2, part);
  Expect({"run", model_.gguf, "--trace", model_.trace, "--arena", "64MB", "--save-learned", "-"}, 2,
         "--save-learned -: this is written to files only");
  WriteAll(inputs_ / "a.csv", "layer,expert\n0,1\n");
  Expect({"trace", "import", inputs_ / "a.csv", "-o", "-"}, 2, part);
}

TEST_F(BadInput, Probes) {
  const std::vector<std::string> shape = {"--hidden", "64",      "--ffn", "32",      "--experts",
                                          "4",        "--top-k", "2",     "--types", "q8_0+q8_0"};
  const auto expect = [&](std::vector<std::string> more, const std::string& part, int code = 2) {
    std::vector<std::string> arguments = {"probe", "--device", "host", "--json", "out.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Expect(arguments, code, part);
  };
  const auto shaped = [&](std::vector<std::string> more, const std::string& part, int code = 2) {
    more.insert(more.end(), shape.begin(), shape.end());
    expect(more, part, code);
  };
  expect({}, "--hidden, --ffn, --experts and --top-k");
  expect({"/nowhere/m.gguf"}, "/nowhere/m.gguf");
  expect({model_.gguf, "--hidden", "64"}, "what MODEL says already");
  shaped({"--rows", "0"}, "--rows");
  shaped({"--rows", "70000"}, "--rows");
  shaped({"--types", "q8_0"}, "q8_0");
  WriteAll(inputs_ / "p.json", "[]");
  shaped({"--profile", inputs_ / "p.json"}, "p.json");
  EXPECT_EQ(ReadAll(inputs_ / "p.json"), "[]");
  shaped({"--profile", "/nowhere/p.json"}, "/nowhere");
  expect({model_.gguf, "--profile", model_.gguf}, model_.gguf);
  ExpectRun({"--copy-path", "dma"}, 2, "--copy-path");
  ExpectRun({"--copy-path", "kernel"}, 2, "host:0 is a host card");
  // A run that is given what is no profile, or one with a kernel that there is not.
  ExpectRun({"--profile", inputs_ / "p.json"}, 2, "p.json");
  WriteAll(inputs_ / "k.json",
           R"({"name": "k", "cards": [{"card": "cuda:0", "choices": [{"up": "q8_0",
              "down": "q8_0", "hidden": 1, "ffn": 1, "experts": 1, "top_k": 1, "rows": 1,
              "kernel": "dot"}]}]})");
  ExpectRun({"--profile", inputs_ / "k.json"}, 2, "no kernel 'dot'");
}

TEST_F(BadInput, HeatBeyondAnything) {
  WriteAll(inputs_ / "h.csv", "layer,expert,count\n0,0,1e300\n");
  const std::string part = "h.csv:2: count 1e300: expected 0 to 1e18";
  ExpectRun({"--warm", inputs_ / "h.csv", "--policy", "heat"}, 2, part);
  Expect({"curve", model_.trace, "--warm", inputs_ / "h.csv", "--policy", "heat"}, 2, part);
}

TEST_F(BadInput, OutputsThatCannotBeWritten) {
  const auto run = [&](const std::string& json, int code, const std::string& part) {
    Expect({"run", model_.gguf, "--trace", model_.trace, "--arena", "64MB", "--json", json}, code,
           part);
  };
  run("/nowhere/out.json", 2, "/nowhere");
  run(inputs_.path().string(), 2, "--json");
  Expect({"pack", model_.gguf, "/nowhere/p.gguf"}, 2, "/nowhere");
  Expect({"pack", model_.gguf, "/proc/p.gguf"}, 2, "/proc");
  // A disk that is full: no file may grow beyond what it takes to see that.
  Expect({"pack", model_.gguf, "p.gguf"}, 1, "p.gguf", "trap '' XFSZ && ulimit -f 512");
  Expect({"make-model", "m.gguf", "--layers", "2", "--experts", "8", "--top-k", "2", "--hidden",
          "1024", "--ffn", "256"},
         1, "m.gguf", "trap '' XFSZ && ulimit -f 512");
}

// The work fails, not the request: one line, exit 1, and the report says what was done.
TEST_F(BadInput, ADamagedUnitFailsTheRun) {
  std::string bytes = ReadAll(model_.pack);
  const size_t half = bytes.size() / 2;
  for (size_t at = half; at < half + 40'000; at += 4096) bytes[at] ^= 1;
  WriteAll(inputs_ / "bad.gguf", bytes);
  const Ran ran = Berth({"run", inputs_ / "bad.gguf", "--trace", model_.trace, "--arena", "64MB",
                         "--json", inputs_ / "out.json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  EXPECT_NE(ran.err.find("checksum"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("steps failed"), std::string::npos) << ran.err;
  const std::string report = ReadAll(inputs_ / "out.json");
  EXPECT_NE(report.find("\"output_hash\": null"), std::string::npos);
  const size_t first = report.find("\"first_failure\": \"");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(report.substr(first, report.find('\n', first) - first).find("checksum"),
            std::string::npos);
}

}  // namespace
}  // namespace berth::testing
