// `berth run`: what it prints, what it writes, and that a config file says what flags say.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/runtime/small_model.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

using nlohmann::json;

// The report of a good run; nothing but JSON on standard output, nothing on standard error.
json Report(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  arguments.insert(arguments.end(), {"--json", "-"});
  const Ran ran = Berth(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  return json::parse(ran.out, nullptr, false);
}

std::vector<std::string> SmallRun(std::vector<std::string> more) {
  const SmallModel& model = SmallModel::Get();
  std::vector<std::string> arguments = {model.gguf, "--trace", model.trace};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(RunCommand, JsonHasWhatIsPromised) {
  const json report = Report(SmallRun({"--arena", "64MB"}));
  for (const char* name : {"hits", "misses", "hits_late", "distinct_units", "rows", "steps",
                           "passes", "bytes_storage", "bytes_h2d", "bytes_d2h", "bytes_alignment",
                           "bytes_retried", "wall_s", "tokens", "tokens_per_s", "decisions"}) {
    EXPECT_TRUE(report.contains(name)) << name;
  }
  EXPECT_TRUE(report["bound_by"].is_string());
  EXPECT_EQ(report["output_hash"].get<std::string>().size(), 16u);
  EXPECT_EQ(report["verified"], false);
  EXPECT_EQ(report["passes"], 14);
  EXPECT_EQ(report["steps"], 14 * kLayers);
  EXPECT_EQ(report["failed_steps"], 0);
  ASSERT_EQ(report["cards"].size(), 1u);
  const json& card = report["cards"][0];
  EXPECT_EQ(card["device"], "host:0");
  EXPECT_EQ(card["arena_slots"], kLayers * kExperts);
  EXPECT_GT(card["arena_bytes"], 0);
  EXPECT_EQ(card["hit_rate"], report["hit_rate"]);
  EXPECT_EQ(report["hits"].get<uint64_t>() + report["misses"].get<uint64_t>(),
            report["distinct_units"].get<uint64_t>());
  EXPECT_EQ(report["bytes_storage"], report["bytes_h2d"]);
  EXPECT_FALSE(report["io"].get<std::string>().empty());
  EXPECT_EQ(report["numerics"]["arithmetic"], "exact-1:8");
  EXPECT_FALSE(report["numerics"]["isa"].get<std::string>().empty());
  double explained = 0;
  for (const auto& [name, seconds] : report["time"].items()) explained += seconds.get<double>();
  EXPECT_NEAR(explained, report["wall_s"].get<double>(), 1e-6);
}

TEST(RunCommand, JsonSaysWhatWasAskedFor) {
  const json request =
      Report({SmallModel::Get().gguf, "--trace", SmallModel::Get().plain_trace, "--policy", "lru",
              "--host-policy", "heat", "--host-tier", "1MB", "--host-tier-mode", "exclusive",
              "--seed", "18446744073709551615", "--chunk", "4294967295", "--streams", "2",
              "--window", "3"})["request"];
  EXPECT_EQ(request["model"], SmallModel::Get().gguf);
  EXPECT_EQ(request["trace"], SmallModel::Get().plain_trace);
  EXPECT_EQ(request["policy"], "lru");
  EXPECT_EQ(request["host_policy"], "heat");
  EXPECT_EQ(request["host_tier_bytes"], 1'000'000);
  EXPECT_EQ(request["host_tier_mode"], "exclusive");
  EXPECT_EQ(request["seed"], UINT64_MAX);
  EXPECT_EQ(request["chunk"], UINT32_MAX);
  EXPECT_EQ(request["streams"], 2);
  EXPECT_EQ(request["window"], 3);
}

TEST(RunCommand, TheTableIsForPeople) {
  const TemporaryDirectory folder;
  std::vector<std::string> arguments = SmallRun({"--arena", "64MB", "--json", folder / "r.json"});
  arguments.insert(arguments.begin(), "run");
  const Ran ran = Berth(arguments);
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");  // no progress bar where there is no terminal
  std::ifstream file(folder / "r.json");
  const json report = json::parse(file, nullptr, false);
  for (const std::string& part :
       {report["output_hash"].get<std::string>(), report["bound_by"].get<std::string>(),
        report["io"].get<std::string>(), std::string("host:0"), std::string("host tier"),
        std::string("workspace "), std::string("planned ")}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
  }
  EXPECT_EQ(ran.out.find('\x1b'), std::string::npos);
}

TEST(RunCommand, AConfigSaysWhatFlagsSay) {
  const TemporaryDirectory folder;
  const SmallModel& model = SmallModel::Get();
  const std::string arena = std::to_string(model.minimum_arena);
  std::ofstream(folder / "berth.toml") << "model = \"" << model.gguf << "\"\n"
                                       << "trace = \"" << model.trace << "\"\n"
                                       << "device = [\"host:0\", \"host:1\"]\n"
                                       << "arena = " << arena << "\n"
                                       << "chunk = 2\npolicy = \"lru\"\nhost-tier = \"1MB\"\n"
                                       << "host-tier-mode = \"exclusive\"\nseed = 7\n"
                                       << "sweep-rows = 4\nstrict-io = false\n";
  const json flags =
      Report(SmallRun({"--device", "host:0", "--device", "host:1", "--arena", arena, "--chunk", "2",
                       "--policy", "lru", "--host-tier", "1MB", "--host-tier-mode", "exclusive",
                       "--seed", "7", "--sweep-rows", "4"}));
  const json config = Report({"--config", folder / "berth.toml"});
  EXPECT_EQ(config["output_hash"], flags["output_hash"]);
  EXPECT_EQ(config["decisions"], flags["decisions"]);
  EXPECT_EQ(config["host_tier"]["copied_back"], flags["host_tier"]["copied_back"]);
  EXPECT_GT(config["bytes_d2h"], 0);
  // The command line wins; what is computed stays.
  const json other = Report({"--config", folder / "berth.toml", "--policy", "lfu", "--chunk", "1"});
  EXPECT_EQ(other["chunk"], 1);
  EXPECT_EQ(other["output_hash"], flags["output_hash"]);
  EXPECT_NE(other["decisions"], flags["decisions"]);
  const json seed = Report({"--config", folder / "berth.toml", "--seed", "8"});
  EXPECT_NE(seed["output_hash"], flags["output_hash"]);
  EXPECT_EQ(seed["decisions"] == flags["decisions"], true);
}

// A flag that may be repeated takes one value each time: MODEL may follow it.
TEST(RunCommand, TheModelMayComeLast) {
  const SmallModel& model = SmallModel::Get();
  for (const std::vector<std::string>& last : {std::vector<std::string>{"--arena", "64MB"},
                                               {"--device", "host:0"},
                                               {"--memory", "64MB"},
                                               {"--link-rate", "9GB"}}) {
    std::vector<std::string> arguments = {"--trace", model.trace, "--passes", "1"};
    arguments.insert(arguments.end(), last.begin(), last.end());
    arguments.push_back(model.gguf);
    EXPECT_EQ(Report(arguments)["passes"], 1) << last.front();
  }
  EXPECT_EQ(Report({"--trace", model.trace, "--passes", "1", "--device", "host:0", "--device",
                    "host:1", "--arena", "8MB", "--arena", "9MB", model.gguf})["cards"]
                .size(),
            2u);
}

TEST(RunCommand, FlagsDoWhatTheySay) {
  const json unmoved = Report(SmallRun({"--arena", "64MB", "--no-compute"}));
  EXPECT_TRUE(unmoved["output_hash"].is_null());
  EXPECT_GT(unmoved["bytes_h2d"], 0);
  EXPECT_EQ(Report(SmallRun({"--passes", "3"}))["passes"], 3);
  EXPECT_EQ(Report(SmallRun({"--io", "buffered"}))["io"], "buffered");
  EXPECT_EQ(Report(SmallRun({"--chunk", "4294967295"}))["failed_steps"], 0);
  const std::string pack = SmallModel::Get().pack;
  const std::string trace = SmallModel::Get().trace;
  EXPECT_EQ(Report({pack, "--trace", trace})["verified"], true);
  EXPECT_EQ(Report({pack, "--trace", trace, "--no-checksums"})["verified"], false);
}

}  // namespace
}  // namespace berth::testing
