// Two devices recorded, for every routed expert, whether it was in their cache: what they report,
// their rules replayed, and what Berth's slots make of the same budget (docs/measuring.md).
// The recordings: github.com/Helldez/BigMoeOnEdge, docs/bench-data/2026-07-15-route-trace; the
// rules: its core/src/moe/expert_stream_source.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/csv/route_csv.h"
#include "runtime/count/count.h"
#include "runtime/trace/import/import.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using Unit = std::pair<uint32_t, uint32_t>;  // block, expert

// One LRU over all layers, with a budget in bytes. A layer of a pass is loaded at once: each of its
// units is looked up once, then those that are wanted are ranked by the last row that wants them,
// then units go until the bytes fit, but none of the layer at hand.
class DeviceCache {
 public:
  explicit DeviceCache(uint64_t budget) : budget_(budget) {}

  bool Holds(const Unit& unit) const { return places_.contains(unit); }
  void Load(const std::vector<Unit>& wanted, uint64_t unit_bytes) {
    const std::set<Unit> distinct(wanted.begin(), wanted.end());
    for (const Unit& unit : distinct) {
      ++lookups;
      if (Holds(unit)) {
        ++hits;
      } else {
        held_bytes_ += unit_bytes;
      }
      Touch(unit, unit_bytes);
    }
    for (const Unit& unit : wanted) Touch(unit, unit_bytes);
    while (held_bytes_ > budget_ && !distinct.contains(order_.back().first)) {
      held_bytes_ -= order_.back().second;
      places_.erase(order_.back().first);
      order_.pop_back();
    }
  }

  uint64_t lookups = 0;
  uint64_t hits = 0;

 private:
  void Touch(const Unit& unit, uint64_t bytes) {
    if (const auto place = places_.find(unit); place != places_.end()) order_.erase(place->second);
    order_.push_front({unit, bytes});
    places_[unit] = order_.begin();
  }

  const uint64_t budget_;
  uint64_t held_bytes_ = 0;
  std::list<std::pair<Unit, uint64_t>> order_;  // the last used first
  std::map<Unit, std::list<std::pair<Unit, uint64_t>>::iterator> places_;
};

struct Recording {
  const char* name;
  uint64_t budget_bytes;
  uint64_t lookups, device_hits;
  // Berth's LRU: slots of each unit size, in proportion to its bytes.
  uint64_t berth_hits;
};

class RecordedTest : public ::testing::TestWithParam<Recording> {
 protected:
  void SetUp() override {
    path_ = std::string(BERTH_SHARED_DATA) + "/traces/" + GetParam().name + ".route.csv";
    if (!std::filesystem::exists(path_)) {
      GTEST_SKIP() << "BERTH_SHARED_DATA has no traces/" << GetParam().name << ".route.csv";
    }
    const std::string files[] = {path_};
    auto report = ImportTrace(files, {}, directory_ / "t");
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    report_ = *report;
  }

  std::string path_;
  const testing::TemporaryDirectory directory_;
  ImportReport report_;
};

TEST_P(RecordedTest, TheDevicesRulesGiveEveryBitItRecorded) {
  auto csv = *io::RouteCsv::Open(*io::FileSource::Open(path_));
  const io::RouteHeader& header = csv->header();
  DeviceCache cache(GetParam().budget_bytes);
  std::vector<Unit> wanted;
  uint32_t layer = 0;
  uint64_t wrong = 0;
  io::RouteRecord record;
  while (*csv->Next(&record)) {
    if (record.layer != layer && !wanted.empty()) {
      cache.Load(wanted, header.layers[layer].expert_bytes);
      wanted.clear();
    }
    layer = record.layer;
    wanted.push_back({record.layer, record.expert});
    wrong += cache.Holds(wanted.back()) != (record.residency > 0);
  }
  cache.Load(wanted, header.layers[layer].expert_bytes);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(cache.lookups, GetParam().lookups);
  EXPECT_EQ(cache.hits, GetParam().device_hits);
  ASSERT_TRUE(report_.device);
  EXPECT_EQ(report_.device->distinct, GetParam().lookups);
  EXPECT_EQ(report_.device->distinct_hit, GetParam().device_hits);
}

TEST_P(RecordedTest, BerthsSlotsComeWithinATenthOfAPoint) {
  auto trace = *TraceFile::Open(directory_ / "t");
  const std::vector<uint64_t>& sizes = trace->info().layer_unit_bytes;
  std::map<uint64_t, uint64_t> layers_of;  // of each size
  uint64_t all = 0;
  for (const uint64_t size : sizes) {
    ++layers_of[size];
    all += size;
  }
  CountWorkload workload;
  CountRequest request;
  std::map<uint64_t, uint32_t> pool_of;
  for (const auto& [size, layers] : layers_of) {
    pool_of[size] = static_cast<uint32_t>(request.pool_slots.size());
    request.pool_slots.push_back(
        static_cast<uint32_t>(GetParam().budget_bytes * layers / all));  // x size / size
  }
  for (const uint64_t size : sizes) workload.pool_of_layer.push_back(pool_of[size]);
  const auto counted = CountMisses(trace.get(), workload, {&request, 1});
  ASSERT_TRUE(counted.ok()) << counted.status().ToString();
  const CountResult& result = counted->front();
  EXPECT_EQ(result.lookups, GetParam().lookups);
  EXPECT_EQ(result.lookups - result.misses, GetParam().berth_hits);
}

INSTANTIATE_TEST_SUITE_P(Devices, RecordedTest,
                         ::testing::Values(Recording{"gemma", 4000ull << 20, 24578, 18872, 18866},
                                           Recording{"gptoss", 3000ull << 20, 6375, 2066, 2062}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace berth
