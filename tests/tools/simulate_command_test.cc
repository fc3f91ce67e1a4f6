// `berth simulate`: that it says what `berth run` says, what it needs and what it refuses.
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

json Report(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "-"});
  const Ran ran = Berth(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  return json::parse(ran.out, nullptr, false);
}

std::vector<std::string> With(const std::string& command, std::vector<std::string> more) {
  const SmallModel& model = SmallModel::Get();
  std::vector<std::string> arguments = {command, model.gguf, "--trace", model.trace};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(SimulateCommand, SaysWhatARunSays) {
  const std::vector<std::string> flags = {"--arena",     "600kB",  "--device", "host:0",
                                          "--device",    "host:1", "--chunk",  "3",
                                          "--host-tier", "400kB",  "--policy", "lru"};
  const json run = Report(With("run", flags));
  const json simulated = Report(With("simulate", flags));
  for (const char* name : {"decisions", "hits", "misses", "hit_rate", "distinct_units", "rows",
                           "steps", "passes", "tokens", "bytes_storage", "bytes_storage_demand",
                           "bytes_alignment", "bytes_h2d", "bytes_d2h", "chunk", "failed_steps"}) {
    EXPECT_EQ(run[name], simulated[name]) << name;
  }
  // The same fields, to the last one.
  for (const auto& [name, value] : run.items()) EXPECT_TRUE(simulated.contains(name)) << name;
  for (size_t c = 0; c < 2; ++c) {
    for (const auto& [name, value] : run["cards"][c].items()) {
      if (name == "hits_late") continue;  // timing
      EXPECT_EQ(value, simulated["cards"][c][name]) << name;
    }
  }
  EXPECT_EQ(run["simulated"], false);
  EXPECT_EQ(simulated["simulated"], true);
  EXPECT_TRUE(simulated["output_hash"].is_null());
  double explained = 0;
  for (const auto& [name, seconds] : simulated["time"].items()) explained += seconds.get<double>();
  EXPECT_NEAR(explained, simulated["wall_s"].get<double>(), 1e-9);
}

// Where misses are split by a profile's costs, both split alike: also where a run imposes the
// profile's rate on its link.
TEST(SimulateCommand, SplitsMissesAsARunDoes) {
  const std::string profile = SmallModel::Get().File("split.json");
  std::ofstream(profile) << R"({"name": "split", "links": [{"card": "host:0", "bytes_per_s": 2e9,
      "rates": [{"bytes": 4096, "bytes_per_s": 5e8}, {"bytes": 1000000, "bytes_per_s": 2e9}]}],
      "host": {"compute": [{"rows": 1, "bytes_per_s": 1.5e9}], "pass_s": 1e-4}})";
  const std::vector<std::string> flags = {"--arena",  "600kB", "--host-tier", "4MB",
                                          "--miss",   "auto",  "--profile",   profile,
                                          "--policy", "lru"};
  const json run = Report(With("run", flags));
  const json simulated = Report(With("simulate", flags));
  for (const char* name : {"decisions", "hits", "misses", "host_computed", "behind_loads",
                           "behind_dropped", "bytes_h2d"}) {
    EXPECT_EQ(run[name], simulated[name]) << name;
  }
  EXPECT_GT(run["host_computed"].get<uint64_t>(), 0u);
  EXPECT_LT(run["host_computed"].get<uint64_t>(), run["misses"].get<uint64_t>());
  EXPECT_EQ(run["miss"], "auto");
  EXPECT_EQ(run["request"]["miss"], "auto");
  EXPECT_TRUE(simulated["time"].contains("host_compute_s"));
  const json staged = Report(With("run", {"--arena", "600kB", "--host-tier", "4MB"}));
  EXPECT_EQ(staged["output_hash"], run["output_hash"]);
  EXPECT_EQ(staged["host_computed"], 0);
}

TEST(SimulateCommand, NeedsNoModel) {
  const std::string& trace = SmallModel::Get().trace;
  const json report = Report({"simulate", "--trace", trace, "--unit-bytes", "1MB", "--profile",
                              "4090-desktop", "--arena", "60MB"});
  EXPECT_EQ(report["machine"], "4090-desktop");
  EXPECT_EQ(report["cards"][0]["device"], "cuda:0");
  EXPECT_EQ(report["cards"][0]["arena_slots"], 59);  // slots are aligned to 256 bytes
  // The profile's two cards where no --device is given; sizes layer by layer.
  const json two = Report({"simulate", "--trace", trace, "--unit-bytes", "1MB,1MB,2MB,2MB",
                           "--profile", "2x7900xtx", "--layers", "4", "--top-k", "4"});
  EXPECT_EQ(two["cards"].size(), 2u);
  EXPECT_EQ(two["cards"][1]["class_slots"].size(), 2u);
}

TEST(SimulateCommand, KnowsTheFuture) {
  const std::vector<std::string> flags = {"--arena", "600kB",   "--device", "host:0",  "--device",
                                          "host:1",  "--slots", "shared",   "--policy"};
  const auto misses = [&](const std::string& policy) {
    std::vector<std::string> more = flags;
    more.push_back(policy);
    return Report(With("simulate", more))["misses"].get<uint64_t>();
  };
  const uint64_t bound = misses("belady");
  EXPECT_LE(bound, misses("belady:admit=always"));
  EXPECT_LT(bound, misses("lru"));

  EXPECT_NE(Berth({"simulate", "--help"}).out.find("belady"), std::string::npos);
  EXPECT_EQ(Berth({"run", "--help"}).out.find("belady"), std::string::npos);
  ExpectOneLine(Berth(With("run", {"--policy", "belady"})), 2, "--policy: policy 'belady'");
  ExpectOneLine(Berth(With("run", {"--policy", "belady"})), 2, "berth simulate");
  ExpectOneLine(Berth(With("run", {"--policy", "belady"})), 2, "berth curve");
  ExpectOneLine(Berth(With("run", {"--host-policy", "belady"})), 2, "berth simulate");
  ExpectOneLine(Berth(With("simulate", {"--policy", "belady:admit=never"})), 2, "always");
  ExpectOneLine(Berth(With("simulate", {"--policy", "belady", "--chunk", "0", "--arena", "1MB"})),
                2, "LRU");
  ExpectOneLine(Berth(With("simulate", {"--policy", "belady", "--save-learned",
                                        SmallModel::Get().File("nothing.safetensors")})),
                2, "learns nothing");
}

TEST(SimulateCommand, PlaysTheNaiveEngine) {
  const std::vector<std::string> flags = {"simulate",     "--trace",  SmallModel::Get().trace,
                                          "--unit-bytes", "1MB",      "--arena",
                                          "60MB",         "--policy", "lru"};
  std::vector<std::string> naive = flags;
  naive.insert(naive.end(), {"--chunk", "0"});
  const json report = Report(naive);
  EXPECT_EQ(report["chunk"], 0);
  EXPECT_EQ(report["distinct_units"], Report(flags)["distinct_units"]);
  EXPECT_NE(report["notes"].dump().find("naive"), std::string::npos);
}

TEST(SimulateCommand, PrintsTheTable) {
  const Ran ran = Berth(With("simulate", {"--arena", "4MB", "--profile", "h200"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"virtual", "h200", "rest of the model", "unexplained", "bound by"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part;
  }
}

TEST(SimulateCommand, ConfigSaysWhatFlagsSay) {
  const std::string config = SmallModel::Get().File("simulate.toml");
  std::ofstream(config) << "trace = \"" << SmallModel::Get().trace
                        << "\"\nunit-bytes = \"1MB\"\nlayers = 4\nprofile = \"4090-desktop\"\n"
                           "chunk = 0\n";
  const json report = Report({"simulate", "--config", config, "--arena", "60MB"});
  EXPECT_EQ(report["chunk"], 0);
  // A run knows neither.
  ExpectOneLine(Berth({"run", SmallModel::Get().gguf, "--config", config}), 2, "unknown key");
}

TEST(SimulateCommand, RefusesWhatCannotBeMeant) {
  const SmallModel& model = SmallModel::Get();
  ExpectOneLine(Berth({"simulate", "--unit-bytes", "1MB"}), 2, "--trace is missing");
  ExpectOneLine(Berth({"simulate", "--trace", model.trace, "--arena", "60MB"}), 2, "--unit-bytes");
  ExpectOneLine(Berth({"simulate", "--trace", model.trace, "--unit-bytes", "1MB"}), 2, "--arena");
  ExpectOneLine(Berth({"simulate", "--trace", model.trace, "--unit-bytes", "1MB,x"}), 2,
                "--unit-bytes");
  ExpectOneLine(Berth({"simulate", "--trace", model.trace, "--unit-bytes", "1MB,1MB"}), 2,
                "2 values");
  // What to do, and about which file.
  for (const char* flag : {"--layers", "--experts", "--top-k"}) {
    const Ran ran = Berth({"simulate", "--trace", model.trace, "--unit-bytes", "1MB", flag, "5"});
    ExpectOneLine(ran, 2, model.trace + ": the trace has ");
    ExpectOneLine(ran, 2, std::string(flag) + " says 5: leave " + flag + " out");
  }
  ExpectOneLine(Berth({"simulate", "--trace", model.trace, "--unit-bytes", "1MB", "--device",
                       "hsot:0", "--arena", "60MB"}),
                2, "--device: card 'hsot:0': no backend is called 'hsot' (did you mean 'host'?)");
  ExpectOneLine(Berth(With("simulate", {"--layers", "4"})), 2, "one or the other");
  ExpectOneLine(Berth(With("simulate", {"--profile", "2x7900xt"})), 2, "did you mean '2x7900xtx'");
  ExpectOneLine(Berth(With("simulate", {"--chunk", "0", "--host-tier", "1MB", "--host-tier-mode",
                                        "exclusive", "--arena", "1MB"})),
                2, "inclusive");
  ExpectOneLine(Berth(With("run", {"--chunk", "0"})), 2, "--chunk");
}

}  // namespace
}  // namespace berth::testing
