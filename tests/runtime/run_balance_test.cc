// A report that does not balance is an error: every sum is broken once.
#include <gtest/gtest.h>

#include <functional>

#include "runtime/run/balance.h"
#include "tests/runtime/small_model.h"

namespace berth::testing {
namespace {

TEST(RunBalance, EveryBrokenSumIsFound) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  SetCards(2, &options.runtime);
  options.runtime.host_tier_bytes = 600'000;
  options.runtime.host_exclusive = true;
  const Result<RunReport> report = RunTrace(options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  const Stats good = report->stats;
  ASSERT_TRUE(CheckReportBalance(good, true).ok());
  ASSERT_GT(good.moved.d2h, 0u);
  const std::vector<std::function<void(Stats*)>> tampers = {
      [](Stats* s) { s->moved.h2d += 1; },
      [](Stats* s) { s->moved.h2d -= 1; },
      [](Stats* s) { s->moved.d2h -= 1; },
      [](Stats* s) { s->moved.storage = s->counters.storage.bytes_demand - 1; },
      [](Stats* s) {
        s->moved.storage =
            s->counters.storage.bytes_demand + s->counters.storage.bytes_alignment + 1;
      },
      [](Stats* s) { ++s->counters.cards[1].hits; },
      [](Stats* s) { ++s->counters.cards[0].misses; },
      [](Stats* s) { ++s->counters.cards[0].requests; },
      [](Stats* s) { ++s->counters.cards[0].units_h2d; },
      [](Stats* s) { ++s->counters.cards[0].ring_units; },
      [](Stats* s) { ++s->counters.distinct_units; },
      [](Stats* s) { ++s->counters.host.hits; },
      [](Stats* s) { ++s->counters.host.requests; },
      [](Stats* s) { ++s->counters.host.copied_back; },
      [](Stats* s) { ++s->counters.storage.units_demand; },
      [](Stats* s) { ++s->counters.storage.units_prefetch; },
      [](Stats* s) { ++s->counters.cards[0].bytes_h2d_demand; },
      [](Stats* s) { ++s->counters.cards[0].bytes_d2h; },
      [](Stats* s) { ++s->counters.cards[0].prefetch_used; },
      [](Stats* s) { ++s->counters.cards[0].prefetch_wasted; },
      [](Stats* s) { ++s->counters.cards[0].prefetch_unused; },
      [](Stats* s) { ++s->counters.cards[0].warm_loads; },
      [](Stats* s) { ++s->counters.cards[0].bytes_h2d_warm; },
      [](Stats* s) { ++s->counters.host.warm_misses; },
      [](Stats* s) { ++s->counters.storage.units_warm; },
      [](Stats* s) { ++s->counters.cards[0].host_computed; },
      [](Stats* s) { ++s->counters.cards[0].behind_loads; },
      [](Stats* s) { s->counters.cards[0].behind_dropped = s->counters.cards[0].misses + 1; },
      [](Stats* s) { ++s->counters.cards[0].bytes_h2d_behind; },
  };
  for (size_t i = 0; i < tampers.size(); ++i) {
    Stats bad = good;
    tampers[i](&bad);
    const Status found = CheckReportBalance(bad, true);
    EXPECT_EQ(found.code(), StatusCode::kInternal) << "tamper " << i;
    EXPECT_NE(found.message().find("do not balance"), std::string::npos) << found.ToString();
  }
  // With failed steps, what was decided and not moved is no fault; the decisions still balance.
  Stats failed = good;
  failed.moved.h2d -= 1;
  EXPECT_TRUE(CheckReportBalance(failed, false).ok());
  ++failed.counters.host.hits;
  EXPECT_FALSE(CheckReportBalance(failed, false).ok());
}

// The parts of the clock add up to the wall time of the replay.
TEST(RunBalance, TimeAddsUp) {
  const Result<RunReport> report = RunTrace(Tight(SmallModel::Get().gguf));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_NEAR(report->stats.time.total_s(), report->wall_s, 0.02 + 0.05 * report->wall_s);
  EXPECT_LE(report->inputs_s, report->wall_s);
}

}  // namespace
}  // namespace berth::testing
