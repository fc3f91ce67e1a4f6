// berth curve as people meet it: tables, JSON, a page, and what it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/report/page.h"
#include "tests/runtime/small_model.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

json ReadJson(const std::string& path) { return json::parse(ReadAll(path), nullptr, false); }

// What a page's scripts would read from the element `id`.
json DataOf(const std::string& html, const std::string& id) {
  const std::string begin = "<script type=\"application/json\" id=\"" + id + "\">";
  const size_t at = html.find(begin);
  if (at == html.npos) return json();
  const size_t from = at + begin.size();
  return json::parse(html.substr(from, html.find("</script>", from) - from), nullptr, false);
}

class CurveCommand : public ::testing::Test {
 protected:
  Ran Curve(std::vector<std::string> more) {
    more.insert(more.begin(), {"curve", trace_});
    return Berth(more, folder_.path().string());
  }
  // In an empty folder, which must be empty afterwards.
  void Refuses(std::vector<std::string> more, int code, const std::string& part) {
    std::string line;
    for (const std::string& word : more) line += " " + word;
    SCOPED_TRACE(line);
    more.insert(more.end(), {"--json", "out.json"});
    ExpectOneLine(Curve(more), code, part);
    EXPECT_TRUE(fs::is_empty(folder_.path()));
  }
  static bool HasPages() { return report::CheckPagesWork().ok(); }

  const std::string trace_ = SmallModel::Get().plain_trace;
  const TemporaryDirectory folder_;
};

TEST_F(CurveCommand, TablesNameEveryUnit) {
  const Ran ran = Curve({"--sizes", "12,25%,50%", "--unit-bytes", "1MB", "--per-layer"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  for (const char* part :
       {"4 layers of 24 experts, top-4; 96 units, 28 rows in 3 requests", "28 passes counted",
        "slots (units)", "share (% of units)", "arena (bytes)", "misses (% of look-ups)", "  lru",
        "  belady, bound", "  belady:admit=always, bound", "*", "left out  static: needs a profile",
        "12 slots, layer by layer", "lru (miss %)", "With 48 slots (50 % of the units)",
        "the cliff: 12 slots are fewer than one token's 16 units"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
  }
}

TEST_F(CurveCommand, JsonHasExactCountsBesideRates) {
  const Ran ran = Curve({"--sizes", "25%,50%", "--policy", "lru", "--policy", "lfu:decay=0.5",
                         "--streams", "2", "--between", "reset", "--json", "c.json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json made = ReadJson(folder_ / "c.json");
  EXPECT_EQ(made["format"], "berth-curve/1");
  EXPECT_EQ(made["request"]["streams"], 2);
  EXPECT_EQ(made["request"]["between"], "reset");
  ASSERT_EQ(made["policies"].size(), 4u);
  EXPECT_EQ(made["policies"][1]["name"], "lfu:decay=0.5");
  EXPECT_EQ(made["policies"][3]["bound"], true);
  for (const json& policy : made["policies"]) {
    ASSERT_EQ(policy["points"].size(), 2u);
    for (const json& point : policy["points"]) {
      uint64_t misses = 0;
      for (const json& layer : point["layer_misses"]) misses += layer.get<uint64_t>();
      EXPECT_EQ(point["misses"], misses);
      EXPECT_EQ(point["lookups"], made["lookups"]);
      EXPECT_DOUBLE_EQ(point["miss_rate"].get<double>(),
                       static_cast<double>(misses) / made["lookups"].get<double>());
    }
  }
  const uint64_t first = made["lru_curve"]["first_slots"];
  EXPECT_EQ(made["lru_curve"]["misses"][24 - first], made["policies"][0]["points"][0]["misses"]);
  // Standard output belongs to JSON where it is asked for there.
  const Ran only = Curve({"--sizes", "50%", "--policy", "lru", "--json", "-"});
  EXPECT_FALSE(json::parse(only.out, nullptr, false).is_discarded());
}

TEST_F(CurveCommand, ThePageHasTheSameDataAndMaps) {
  if (!HasPages()) GTEST_SKIP() << "built without Chart.js";
  const Ran ran = Curve({"--sizes", "25%,50%", "--json", "c.json", "--html", "c.html"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("page: c.html"), std::string::npos);
  const std::string html = ReadAll(folder_ / "c.html");
  EXPECT_EQ(DataOf(html, "curve-data"), ReadJson(folder_ / "c.json"));
  const json maps = DataOf(html, "curve-maps");
  ASSERT_FALSE(maps.empty());
  for (const json& map : maps) {
    EXPECT_EQ(map["shares"].get<std::string>().size(), 96u / 3 * 4);
  }
  // Everything that the scripts reach for is there, and nothing is there to load.
  for (const char* id : {"curve-chart", "curve-legend", "scale-linear", "scale-log", "map",
                         "map-choice", "map-sort", "map-readout", "layer-chart", "layer-legend",
                         "layer-size", "layer-table", "chart-version"}) {
    EXPECT_NE(html.find("id=\"" + std::string(id) + "\""), std::string::npos) << id;
  }
  for (const char* load : {" src=", " href=", "@import", "url("}) {
    EXPECT_EQ(html.find(load), html.npos) << load;
  }
}

TEST_F(CurveCommand, APageIsReplacedOnlyByForce) {
  if (!HasPages()) GTEST_SKIP() << "built without Chart.js";
  std::ofstream(folder_ / "c.html") << "mine";
  const std::vector<std::string> flags = {"--sizes", "50%", "--policy", "lru", "--html", "c.html"};
  ExpectOneLine(Curve(flags), 2, "--force");
  EXPECT_EQ(ReadAll(folder_ / "c.html"), "mine");
  std::vector<std::string> forced = flags;
  forced.push_back("--force");
  EXPECT_EQ(Curve(forced).code, 0);
  EXPECT_NE(ReadAll(folder_ / "c.html").find("</html>"), std::string::npos);
}

TEST_F(CurveCommand, PagesThatHaveNoPlace) {
  if (!HasPages()) {
    Refuses({"--html", "c.html"}, 2, "libjs-chart.js");
    return;
  }
  Refuses({"--html", "no/such/c.html"}, 2, "no/such");
  Refuses({"--html", "."}, 2, "--html");
  Refuses({"--html", "-"}, 2, "name a file");
  Refuses({"--html", "out.json"}, 2, "the same file");
  Refuses({"--html", trace_, "--force"}, 2, "an input of this very run");
}

TEST_F(CurveCommand, ASizeForEachLayer) {
  const Ran ran = Curve(
      {"--sizes", "50%", "--unit-bytes", "1MB,1MB,2MB,2MB", "--policy", "lru", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json report = json::parse(ran.out, nullptr, false);
  ASSERT_EQ(report["pools"].size(), 2u);
  EXPECT_EQ(report["pools"][1]["unit_bytes"], 2'000'000);
  EXPECT_EQ(report["request"]["unit_bytes"], json({1'000'000, 1'000'000, 2'000'000, 2'000'000}));
}

TEST_F(CurveCommand, RequestsThatCannotBeMeant) {
  Refuses({"--sizes", "0"}, 2, "--sizes");
  Refuses({"--sizes", "12%,oops"}, 2, "'oops'");
  Refuses({"--sizes", "97"}, 2, "more than the 96 units");
  Refuses({"--sizes", "4GB"}, 2, "--unit-bytes");
  Refuses({"--unit-bytes", "9EB"}, 2, "--unit-bytes");
  Refuses({"--unit-bytes", "1MB,1MB"}, 2, "2 values for 4 layers");
  Refuses({"--unit-bytes", "0"}, 2, "expected 1 byte to");
  Refuses({"--policy", "lruu"}, 2, "did you mean 'lru'");
  Refuses({"--policy", "lfu:decay=2"}, 2, "decay");
  Refuses({"--policy", "static"}, 2, "--warm");
  Refuses({"--scope", "shard"}, 2, "did you mean 'shared'");
  Refuses({"--granularity", "stepp"}, 2, "did you mean 'step'");
  Refuses({"--admit", "never"}, 2, "policy, always");
  Refuses({"--between", "rest"}, 2, "did you mean 'reset'");
  Refuses({"--preload"}, 2, "--warm");
  Refuses({"--warm", "/nowhere.heat"}, 2, "/nowhere.heat");
  Refuses({"--warm", SmallModel::Get().gguf}, 2, "m.gguf");
  Refuses({"--warmup", "28"}, 2, "28 passes");
  Refuses({"--streams", "0"}, 2, "--streams");
  Refuses({"--window", "-1"}, 2, "--window");
  Refuses({"--requests", "1,,2"}, 2, "--requests");
  Refuses({"--requests", "2-1"}, 2, "--requests");
  Refuses({"--requests", "0-4294967294"}, 2, "--requests");
  Refuses({"--size", "3"}, 2, "did you mean '--sizes'");
}

TEST_F(CurveCommand, TracesThatAreNone) {
  const auto refuses = [&](const std::string& trace, int code) {
    SCOPED_TRACE(trace);
    ExpectOneLine(Berth({"curve", trace, "--json", folder_ / "c.json"}), code, trace);
    EXPECT_FALSE(fs::exists(folder_ / "c.json"));
  };
  refuses("/nowhere.safetensors", 2);
  refuses(SmallModel::Get().gguf, 2);
  std::ofstream(folder_ / "cut") << ReadAll(trace_).substr(0, ReadAll(trace_).size() - 7);
  refuses(folder_ / "cut", 1);
  ExpectOneLine(Berth({"curve"}), 2, "TRACE");
}

TEST_F(CurveCommand, HelpHasExamples) {
  const Ran ran = Berth({"curve", "--help"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("berth curve t.safetensors --sizes 12%,25%,50%,75%"), std::string::npos);
}

}  // namespace
}  // namespace berth::testing
