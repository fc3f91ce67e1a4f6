#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/config/machine_profile.h"
#include "runtime/config/toml_config.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

constexpr std::array<ConfigKey, 7> kKeys = {{{"model", ConfigType::kString},
                                             {"device", ConfigType::kString, true},
                                             {"arena", ConfigType::kBytes, true},
                                             {"chunk", ConfigType::kInteger},
                                             {"rate", ConfigType::kNumber},
                                             {"no-compute", ConfigType::kFlag},
                                             {"host-tier-mode", ConfigType::kString}}};

TEST(TomlConfigTest, GivesFlagsInTheOrderOfTheFile) {
  auto entries = ParseTomlConfig(
      "# a comment\n"
      "model = \"m.gguf\"\n"
      "device = [\"host:0\", \"host:1\"]\n"
      "arena = [1_000, \"1.5GB\"]\n"
      "\n"
      "chunk = 64\n"
      "rate = 0.1\n"
      "no-compute = true\n",
      "berth.toml", kKeys);
  ASSERT_TRUE(entries.ok()) << entries.status().ToString();
  ASSERT_EQ(entries->size(), 6u);
  EXPECT_EQ((*entries)[0].key, "model");
  EXPECT_EQ((*entries)[1].values, (std::vector<std::string>{"host:0", "host:1"}));
  EXPECT_EQ((*entries)[2].values, (std::vector<std::string>{"1000", "1.5GB"}));
  EXPECT_EQ((*entries)[3].line, 6u);
  EXPECT_EQ((*entries)[3].values, (std::vector<std::string>{"64"}));
  EXPECT_EQ((*entries)[4].values, (std::vector<std::string>{"0.1"}));
  EXPECT_EQ((*entries)[5].values, (std::vector<std::string>{"true"}));
}

struct BadText {
  const char* text;
  const char* says;
};

TEST(TomlConfigTest, RefusesWithFileAndLine) {
  const std::vector<BadText> cases = {
      {"model = \"m\"\nchnk = 4\n", "berth.toml:2: unknown key 'chnk' (did you mean 'chunk'?)"},
      {"chunk = \"64\"\n", "berth.toml:1: 'chunk' must be a whole number"},
      {"chunk = -1\n", "'chunk' must be"},
      {"chunk = 1.0\n", "'chunk' must be"},
      {"chunk = [64]\n", "'chunk' must be"},
      {"arena = \"lots\"\n", "'arena' must be a size"},
      {"device = []\n", "'device' must be"},
      {"device = [1]\n", "'device' must be"},
      {"device = [[\"a\"]]\n", "'device' must be"},
      {"rate = inf\n", "'rate' must be a number"},
      {"no-compute = 1\n", "'no-compute' must be true or false"},
      {"model = 1979-05-27\n", "'model' must be a string"},
      {"[model]\nname = \"m\"\n", "'model' must be a string"},
      {"[run]\nchunk = 1\n", "unknown key 'run'"},
      {"chunk = 1\n\nchunk = 2\n", "berth.toml:3:"},
      {"chunk = \n", "berth.toml:1:"},
      {"\xff\xfe", "berth.toml:1:"}};
  for (const BadText& bad : cases) {
    const auto entries = ParseTomlConfig(bad.text, "berth.toml", kKeys);
    ASSERT_FALSE(entries.ok()) << bad.text;
    EXPECT_EQ(entries.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(entries.status().message().find(bad.says), std::string_view::npos)
        << bad.text << " gave " << entries.status().ToString();
    EXPECT_EQ(entries.status().message().find('\n'), std::string_view::npos);
  }
}

TEST(TomlConfigTest, DeepNestingAndLargeFilesAreErrors) {
  EXPECT_FALSE(ParseTomlConfig("device = " + std::string(100000, '['), "t", kKeys).ok());
  EXPECT_FALSE(ParseTomlConfig(std::string((1 << 20) + 1, '\n'), "t", kKeys).ok());
  EXPECT_EQ(ReadTomlConfig("/no/such/berth.toml", kKeys).status().code(), StatusCode::kNotFound);
}

TEST(TomlConfigTest, ReadsAFile) {
  const testing::TemporaryDirectory directory;
  std::ofstream(directory / "berth.toml") << "chunk = 7\n";
  auto entries = ReadTomlConfig(directory / "berth.toml", kKeys);
  ASSERT_TRUE(entries.ok()) << entries.status().ToString();
  EXPECT_EQ(entries->at(0).values.at(0), "7");
}

TEST(MachineProfileTest, ReadsAll) {
  auto profile = ParseMachineProfile(
      R"({"name": "desk", "notes": "two cards",
          "storage": {"bytes_per_s": 6.8e9, "bytes_in_flight": 8388608},
          "links": [{"card": "host:0", "bytes_per_s": 3e9}, {"card": "host:1"}]})",
      "p.json");
  ASSERT_TRUE(profile.ok()) << profile.status().ToString();
  EXPECT_EQ(profile->name, "desk");
  EXPECT_EQ(profile->notes, "two cards");
  EXPECT_EQ(profile->storage.bytes_per_s, 6.8e9);
  EXPECT_EQ(profile->storage.bytes_in_flight, 8388608u);
  ASSERT_EQ(profile->links.size(), 2u);
  EXPECT_EQ(profile->links[0].bytes_per_s, 3e9);
  EXPECT_EQ(profile->links[1].card, "host:1");
  EXPECT_EQ(profile->links[1].bytes_per_s, 0);
}

TEST(MachineProfileTest, RefusesWhatItDoesNotKnow) {
  const std::vector<BadText> cases = {
      {"", "not JSON at byte"},
      {"[]", "must be an object"},
      {"{}", "'name' is missing"},
      {R"({"name": 1})", "'name' must be a string"},
      {R"({"name": "a", "name": "b"})", "'name' stands twice"},
      {R"({"name": "a", "stroage": {}})", "did you mean 'storage'"},
      {R"({"name": "a", "storage": []})", "'storage' must be an object"},
      {R"({"name": "a", "storage": {"bytes_per_s": "fast"}})", "storage: 'bytes_per_s' must be"},
      {R"({"name": "a", "storage": {"bytes_per_s": 0}})", "above 0"},
      {R"({"name": "a", "storage": {"bytes_per_s": 1e999}})", ""},
      {R"({"name": "a", "storage": {"bytes_in_flight": 1.5}})", "a whole number"},
      {R"({"name": "a", "storage": {"bytes_in_flight": -1}})", "a whole number"},
      {R"({"name": "a", "storage": {"depth": 1}})", "storage: unknown field 'depth'"},
      {R"({"name": "a", "links": {}})", "'links' must be a list"},
      {R"({"name": "a", "links": [3]})", "links[0] must be an object"},
      {R"({"name": "a", "links": [{}]})", "links[0]: 'card' is missing"},
      {R"({"name": "a", "links": [{"card": "x"}, {"card": "x"}]})", "stands twice"}};
  for (const BadText& bad : cases) {
    const auto profile = ParseMachineProfile(bad.text, "p.json");
    ASSERT_FALSE(profile.ok()) << bad.text;
    EXPECT_EQ(profile.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(profile.status().message().find(bad.says), std::string_view::npos)
        << bad.text << " gave " << profile.status().ToString();
    EXPECT_TRUE(profile.status().message().starts_with("p.json: "));
  }
  const std::string deep =
      "{\"name\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_FALSE(ParseMachineProfile(deep, "p").ok());
}

}  // namespace
}  // namespace berth
