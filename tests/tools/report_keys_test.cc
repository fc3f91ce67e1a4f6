// docs/reports.md names every key of the JSON reports, and no other.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/small_model.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

using nlohmann::json;

// The first columns of the table below a heading.
std::set<std::string> KeysOf(const std::string& heading) {
  std::ifstream in(std::string(BERTH_TEST_DATA) + "/../../docs/reports.md");
  std::set<std::string> keys;
  bool there = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) there = line == "## " + heading;
    if (!there || !line.starts_with("| `")) continue;
    const std::string key = line.substr(3, line.find('`', 3) - 3);
    EXPECT_TRUE(keys.insert(key).second) << key << " stands twice";
  }
  return keys;
}

// Where a value is that is no object; of a list its entries.
void Collect(const json& value, const std::string& path, std::set<std::string>* keys) {
  if (value.is_object()) {
    for (const auto& [key, below] : value.items()) {
      Collect(below, path.empty() ? key : path + "." + key, keys);
    }
  } else if (value.is_array() && !value.empty()) {
    for (const json& below : value) Collect(below, path + "[]", keys);
  } else {
    keys->insert(value.is_array() ? path + "[]" : path);
  }
}

void ExpectDocumented(std::vector<std::string> command, const std::set<std::string>& documented,
                      const std::set<std::string>& sometimes) {
  SCOPED_TRACE(command.front());
  command.insert(command.end(), {"--json", "-"});
  const Ran ran = Berth(command);
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::set<std::string> written;
  Collect(json::parse(ran.out, nullptr, false), "", &written);
  for (const std::string& key : written) {
    EXPECT_TRUE(documented.contains(key)) << key << " is not in docs/reports.md";
  }
  for (const std::string& key : documented) {
    EXPECT_TRUE(written.contains(key) || sometimes.contains(key)) << key << " is not written";
  }
}

TEST(ReportKeys, StandInTheDocumentation) {
  const SmallModel& model = SmallModel::Get();
  const std::set<std::string> run = KeysOf("berth run, berth simulate");
  ExpectDocumented({"run", model.gguf, "--trace", model.trace, "--arena", "64MB"}, run,
                   {"first_failure"});
  ExpectDocumented({"simulate", "--trace", model.trace, "--unit-bytes", "1MB", "--arena", "60MB"},
                   run, {"first_failure"});
  ExpectDocumented(
      {"probe", model.gguf, "--device", "host", "--rows", "1", "--rounds", "1", "--slots", "4MB"},
      KeysOf("berth probe"),
      {"card.bytes_per_s", "card.update_s", "card.reduce_s", "card.unit_bytes",
       "card.kernels[].units", "card.kernels[].rows", "card.kernels[].seconds", "link.bytes_per_s",
       "link.to_host_bytes_per_s", "link.both_bytes_per_s", "link.issue_s", "link.latency_s",
       "link.kernel_bytes_per_s", "link.copy_path", "link.rates[].bytes",
       "link.rates[].bytes_per_s"});
  ExpectDocumented({"curve", model.trace}, KeysOf("berth curve"), {});
}

}  // namespace
}  // namespace berth::testing
