// Once a first round has warmed it, the way of a step allocates nothing: no operator new on any
// thread, no memory from the system, while units are read, proved, copied, evicted and computed.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/new_counter.h"
#include "tests/runtime/session_work.h"
#include "tests/runtime/small_model.h"

namespace berth::testing {
namespace {

constexpr uint32_t kWorks = 24;

// Address space of the process: grows with every slab, pinned region and heap chunk.
uint64_t AddressSpaceKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmSize:", 0) == 0) return std::stoull(line.substr(7));
  }
  return 0;
}

struct Way {
  std::string name;
  bool pack = false;
  std::string engine = "auto";
  uint32_t cards = 1;
  uint64_t host_tier = 0;
  bool exclusive = false;
  std::string policy = "lfu";
  MissChoice miss = MissChoice::kStage;
};

class SessionAllocation : public ::testing::TestWithParam<Way> {};

TEST_P(SessionAllocation, AWarmStepAllocatesNothing) {
  const Way& way = GetParam();
  const SmallModel& model = SmallModel::Get();
  RuntimeOptions options =
      SessionOptionsOf(way.pack ? model.pack : model.gguf, model.minimum_arena * 3 / 2);
  options.io_engine = way.engine;
  SetCards(way.cards, &options);
  options.host_tier_bytes = way.host_tier;
  options.host_exclusive = way.exclusive;
  options.policy = options.host_policy = way.policy;
  options.miss = way.miss;
  const auto runtime = OpenRuntime(options);
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  const auto& expected = ExpectedOutputs(kWorks);
  std::vector<Work> works;
  for (uint32_t i = 0; i < kWorks; ++i) works.emplace_back(i);
  uint32_t wrong = 0;
  const auto round = [&](uint64_t pass) {
    for (uint32_t i = 0; i < kWorks; ++i) {
      const Work& next = works[(i + 1) % kWorks];
      const auto ticket = (*session)->Enqueue(works[i].Prepare(pass));
      const UnitRef leased{i % kLayers, i % kExperts};
      const auto lease = (*session)->Acquire({&leased, 1});
      if (!(*session)->Hint(next.layer, next.ids, pass).ok()) ++wrong;
      if (!ticket.ok() || !(*session)->Wait(*ticket).ok() || works[i].y != expected[i]) ++wrong;
    }
  };
  round(0);
  const Counters before = (*runtime)->stats().counters;
  [[maybe_unused]] const uint64_t space = AddressSpaceKilobytes();
  const uint64_t news = NewCalls();
  for (uint64_t pass = 1; pass <= 6; ++pass) round(pass);
  EXPECT_EQ(NewCalls() - news, 0u);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(AddressSpaceKilobytes(), space);
#endif
  EXPECT_EQ(wrong, 0u);
  // It was no idle walk.
  const Counters after = (*runtime)->stats().counters;
  EXPECT_GT(after.cards[0].evicted - before.cards[0].evicted, 20u);
  EXPECT_GT(after.leases - before.leases, 0u);
  if (way.host_tier == 0) {
    EXPECT_GT(after.storage.units_demand - before.storage.units_demand, 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SessionAllocation,
    ::testing::Values(Way{"Gguf"}, Way{"Pack", true}, Way{"Pread", false, "pread"},
                      Way{"Buffered", true, "buffered", 2},
                      Way{"Inclusive", false, "auto", 2, 1'200'000, false, "lru"},
                      Way{"Exclusive", true, "auto", 2, 1'200'000, true, "heat"},
                      Way{"OnHost", false, "auto", 1, 0, false, "lfu", MissChoice::kHost},
                      Way{"Split", false, "auto", 2, 1'200'000, true, "lru", MissChoice::kAuto}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace berth::testing
