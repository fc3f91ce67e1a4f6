#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
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

TEST(MachineProfileTest, ReadsCosts) {
  auto profile = ParseMachineProfile(
      R"({"name": "desk",
          "storage": {"latency_s": 0, "source": "s",
                      "rates": [{"bytes": 2, "depth": 4, "bytes_per_s": 24},
                                {"bytes": 1, "depth": 1, "bytes_per_s": 11},
                                {"bytes": 1, "depth": 4, "bytes_per_s": 14},
                                {"bytes": 2, "depth": 1, "bytes_per_s": 21}]},
          "links": [{"card": "host:0", "to_host_bytes_per_s": 3, "both_bytes_per_s": 4,
                     "issue_s": 1e-6, "latency_s": 2e-6,
                     "rates": [{"bytes": 7, "bytes_per_s": 9}]}],
          "cards": [{"card": "host:0", "memory_bytes": 5, "update_s": 0, "reduce_s": 1e-6,
                     "unit_bytes": 6, "bytes_per_s": 8,
                     "kernels": [{"units": 1, "rows": 1, "seconds": 1e-6}]}],
          "host": {"memory_bytes": 9, "round_trip_s": 1, "dispatch_hit_s": 2,
                   "dispatch_staged_s": 3, "pass_s": 4, "pass_row_s": 5,
                   "compute": [{"rows": 1, "bytes_per_s": 6}]}})",
      "p.json");
  ASSERT_TRUE(profile.ok()) << profile.status().ToString();
  const ProfileGrid& rates = profile->storage.rates;
  EXPECT_EQ(rates.x, (std::vector<double>{1, 2}));
  EXPECT_EQ(rates.y, (std::vector<double>{1, 4}));
  EXPECT_EQ(rates.value, (std::vector<double>{11, 21, 14, 24}));
  EXPECT_EQ(profile->storage.latency_s, 0);
  EXPECT_EQ(profile->links[0].issue_s, 1e-6);
  EXPECT_EQ(profile->links[0].rates.value, std::vector<double>{9});
  EXPECT_EQ(profile->cards[0].memory_bytes, 5u);
  EXPECT_EQ(profile->cards[0].update_s, 0);
  EXPECT_EQ(profile->cards[0].kernels.y, std::vector<double>{1});
  EXPECT_EQ(profile->host.dispatch_staged_s, 3);
  EXPECT_EQ(profile->host.pass_row_s, 5);
  EXPECT_EQ(profile->host.compute.value, std::vector<double>{6});
}

TEST(MachineProfileTest, BuiltInOnesAreFoundByName) {
  std::set<std::string> names;
  for (const BuiltInProfile& built_in : BuiltInProfiles()) {
    SCOPED_TRACE(built_in.name);
    auto profile = FindMachineProfile(std::string(built_in.name));
    ASSERT_TRUE(profile.ok()) << profile.status().ToString();
    EXPECT_EQ(profile->name, built_in.name);
    // Every figure says where it comes from.
    EXPECT_FALSE(profile->storage.source.empty());
    EXPECT_FALSE(profile->host.source.empty());
    for (const LinkProfile& link : profile->links) EXPECT_FALSE(link.source.empty());
    for (const CardProfile& card : profile->cards) EXPECT_FALSE(card.source.empty());
    EXPECT_EQ(profile->links.size(), profile->cards.size());
    names.insert(profile->name);
  }
  EXPECT_GE(names.size(), 3u);
  const auto unknown = FindMachineProfile("h20");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::kNotFound);
  EXPECT_NE(unknown.status().message().find("did you mean 'h200'"), std::string_view::npos);
}

TEST(MachineProfileTest, RefusesWhatItDoesNotKnow) {
  const std::vector<BadText> cases = {
      {"", "not JSON at byte"},
      {"[]", "must be an object"},
      {"{}", "'name' is missing"},
      {R"({"name": 1})", "'name' must be a string"},
      {R"({"name": "a", "name": "b"})", "'name' stands twice"},
      {R"({"name": "a", "stroage": {}})", "did you mean 'storage'"},
      {R"({"name": "a", "cards": [{"card": "cuda:0", "choices": [{"up": "q8_0"}]}]})",
       "cards[0]: choices[0]: 'down' is missing"},
      {R"({"name": "a", "cards": [{"card": "cuda:0", "choices": [{"up": "q8_0", "down": "q9_0",
           "hidden": 1, "ffn": 1, "experts": 1, "top_k": 1, "rows": 1, "kernel": "dots"}]}]})",
       "q9_0"},
      {R"({"name": "a", "cards": [{"card": "cuda:0", "choices": [{"up": "q8_0", "down": "q8_0",
           "hidden": 5000000000, "ffn": 1, "experts": 1, "top_k": 1, "rows": 1,
           "kernel": "dots"}]}]})",
       "too large"},
      {R"({"name": "a", "storage": []})", "'storage' must be an object"},
      {R"({"name": "a", "storage": {"bytes_per_s": "fast"}})", "storage: 'bytes_per_s' must be"},
      {R"({"name": "a", "storage": {"bytes_per_s": 0}})", "above 0"},
      {R"({"name": "a", "storage": {"bytes_per_s": 1e999}})", ""},
      {R"({"name": "a", "storage": {"bytes_in_flight": 1.5}})", "a whole number"},
      {R"({"name": "a", "storage": {"bytes_in_flight": -1}})", "a whole number"},
      {R"({"name": "a", "storage": {"rates": [{"bytes": 1, "depth": 1}]}})", "is missing"},
      {R"({"name": "a", "storage": {"rates": [{"bytes": 1, "depth": 1, "bytes_per_s": 1},
                                              {"bytes": 2, "depth": 2, "bytes_per_s": 1}]}})",
       "need 4"},
      {R"({"name": "a", "links": [{"card": "hip:1", "rates": [{"bytes": 1, "bytes_per_s": 1},
                                                          {"bytes": 1, "bytes_per_s": 2}]}]})",
       "stands twice"},
      {R"({"name": "a", "cards": [{"card": "hip:1", "kernels": []}]})", "unit_bytes"},
      {R"({"name": "a", "cards": [{"card": "hip:1", "memory": 1}]})", "cards[0]: unknown field"},
      {R"({"name": "a", "host": {"round_trip_s": -1}})", "at least 0"},
      {R"({"name": "a", "host": {"round_trip": 1}})", "did you mean 'round_trip_s'"},
      {R"({"name": "a", "storage": {"depth": 1}})", "storage: unknown field 'depth'"},
      {R"({"name": "a", "links": {}})", "'links' must be a list"},
      {R"({"name": "a", "links": [3]})", "links[0] must be an object"},
      {R"({"name": "a", "links": [{}]})", "links[0]: 'card' is missing"},
      {R"({"name": "a", "links": [{"card": "hip:1"}, {"card": "hip:1"}]})", "stands twice"},
      {R"({"name": "a", "links": [{"card": "hip"}, {"card": "hip:0"}]})", "stands twice"},
      {R"({"name": "a", "links": [{"card": "hip:0"}, {"card": "hsot:0"}]})",
       "links[1]: card 'hsot:0': no backend is called 'hsot' (did you mean 'host'?)"},
      {R"({"name": "a", "cards": [{"card": "cuda:x"}]})", "expected <backend>:<number>"}};
  for (const BadText& bad : cases) {
    const auto profile = ParseMachineProfile(bad.text, "p.json");
    ASSERT_FALSE(profile.ok()) << bad.text;
    const bool no_backend = std::string_view(bad.says).find("no backend") != std::string_view::npos;
    EXPECT_EQ(profile.status().code(),
              no_backend ? StatusCode::kNotFound : StatusCode::kInvalidArgument);
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
