// The same submissions give the same decisions and the same counters, whatever the order and the
// speed of the answers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

// Every counter but the ones that tell of timing.
std::string Print(const Counters& c) {
  std::string s;
  const auto add = [&s](uint64_t n) { s += std::to_string(n) + " "; };
  for (uint64_t n : {c.passes, c.steps, c.rows, c.distinct_units, c.failed_steps, c.failed_reads,
                     c.failed_updates, c.leases, c.leases_refused}) {
    add(n);
  }
  for (const CardCounters& k : c.cards) {
    s += "| ";
    for (uint64_t n : {k.requests,
                       k.hits,
                       k.misses,
                       k.ring_units,
                       k.inserted,
                       k.evicted,
                       k.waves,
                       k.prefetch_admitted,
                       k.prefetch_dropped,
                       k.prefetch_resident,
                       k.prefetch_used,
                       k.prefetch_wasted,
                       k.prefetch_unused,
                       k.bytes_prefetch_wasted,
                       k.lease_loads,
                       k.warm_loads,
                       k.bytes_h2d_warm,
                       k.units_h2d,
                       k.bytes_h2d_demand,
                       k.bytes_h2d_prefetch,
                       k.units_d2h,
                       k.bytes_d2h}) {
      add(n);
    }
  }
  s += "| ";
  const HostCounters& h = c.host;
  for (uint64_t n : {h.requests, h.hits, h.misses, h.staged, h.inserted, h.evicted, h.promoted,
                     h.copied_back, h.prefetch_hits, h.prefetch_misses, h.lease_hits,
                     h.lease_misses, h.warm_hits, h.warm_misses}) {
    add(n);
  }
  s += "| ";
  const StorageCounters& d = c.storage;
  for (uint64_t n : {d.units_demand, d.units_prefetch, d.bytes_demand, d.bytes_prefetch,
                     d.units_warm, d.bytes_warm, d.bytes_alignment}) {
    add(n);
  }
  return s + "| " + std::to_string(c.decisions);
}

struct Drive {
  DriverOptions::Order order;
  uint64_t bytes_in_flight;  // 0: as the machine has it
  uint32_t most_answers;     // between submissions
};

void ExpectEqual(uint64_t seed) {
  const CoreOptions machine = RandomMachine(seed);
  const std::vector<Action> script = RandomScript(seed, machine, 80, /*closes=*/false);
  using Order = DriverOptions::Order;
  std::string first;
  for (const Drive& drive :
       {Drive{Order::kInOrder, 0, 1000000}, Drive{Order::kInOrder, 1u << 30, 0},
        Drive{Order::kReversed, 1, 3}, Drive{Order::kReversed, 1u << 30, 2},
        Drive{Order::kRandom, 1, 0}, Drive{Order::kRandom, 1u << 30, 20}}) {
    CoreOptions options = machine;
    if (drive.bytes_in_flight > 0) {
      options.read_bytes_in_flight = options.copy_bytes_in_flight = drive.bytes_in_flight;
      options.prefetch_read_bytes_in_flight = drive.bytes_in_flight;
      options.prefetch_copy_bytes_in_flight = drive.bytes_in_flight;
    }
    DriverOptions driver_options;
    driver_options.seed = seed * 31;
    driver_options.order = drive.order;
    FakeDriver driver(driver_options);
    ASSERT_TRUE(driver.Open(options).ok());
    Play(&driver, script, seed, drive.most_answers);
    driver.CheckQuiet(/*exact=*/true);
    ASSERT_EQ(driver.error(), "") << "seed " << seed;
    const std::string counters = Print(driver.core().counters());
    if (first.empty()) first = counters;
    ASSERT_EQ(counters, first) << "seed " << seed;
  }
}

TEST(CoreEqualityTest, AnswersChangeNoDecision) {
  for (uint64_t seed = 1; seed <= 200 && !HasFatalFailure(); ++seed) ExpectEqual(seed);
}

// The comparison sees a difference: another seed, other decisions.
TEST(CoreEqualityTest, OtherSubmissionsGiveOtherDecisions) {
  uint64_t digests[2];
  for (uint64_t s : {0, 1}) {
    const CoreOptions machine = RandomMachine(5);
    FakeDriver driver(DriverOptions{});
    ASSERT_TRUE(driver.Open(machine).ok());
    Play(&driver, RandomScript(5 + s, machine, 80, false), 1, 3);
    digests[s] = driver.core().counters().decisions;
  }
  EXPECT_NE(digests[0], digests[1]);
}

}  // namespace
}  // namespace berth::scheduler
