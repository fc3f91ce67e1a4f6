// Belady against every other way to play a trace.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/count/count.h"
#include "tests/count/given_trace.h"

namespace berth {
namespace {

using testing::Shape;

uint64_t Misses(testing::GivenTrace* trace, const CountWorkload& workload,
                const std::string& policy, uint32_t slots, bool always = false) {
  CountRequest request;
  request.policy = policy;
  request.pool_slots = {slots};
  request.always_admit = always;
  const auto results = CountMisses(trace, workload, std::vector<CountRequest>{request});
  EXPECT_TRUE(results.ok()) << results.status().ToString();
  return results.ok() ? (*results)[0].misses : 0;
}

// Every choice that a pool has: which of a step's missing units come in, and who leaves for them.
// Units are bits.
class Exhaustive {
 public:
  Exhaustive(std::vector<uint32_t> steps, uint32_t slots)
      : steps_(std::move(steps)), slots_(slots) {}

  uint64_t Fewest() {
    std::map<uint32_t, uint64_t> fewest = {{0, 0}};
    for (const uint32_t step : steps_) {
      std::map<uint32_t, uint64_t> next;
      for (const auto& [resident, misses] : fewest) {
        const uint64_t now = misses + Bits(step & ~resident);
        // Hits stay; of the others any that fit.
        const uint32_t must = resident & step, may = (resident | step) & ~must;
        for (uint32_t also = may;; also = (also - 1) & may) {
          if (Bits(must | also) <= slots_) {
            const auto at = next.try_emplace(must | also, now).first;
            at->second = std::min(at->second, now);
          }
          if (also == 0) break;
        }
      }
      fewest = std::move(next);
    }
    uint64_t best = UINT64_MAX;
    for (const auto& [resident, misses] : fewest) best = std::min(best, misses);
    return best;
  }

 private:
  static uint32_t Bits(uint32_t set) { return static_cast<uint32_t>(__builtin_popcount(set)); }

  std::vector<uint32_t> steps_;
  uint32_t slots_;
};

uint32_t LargestStep(const std::vector<uint32_t>& steps) {
  int most = 0;
  for (const uint32_t step : steps) most = std::max(most, __builtin_popcount(step));
  return static_cast<uint32_t>(most);
}

std::vector<uint32_t> StepsOf(testing::GivenTrace* trace, Granularity granularity) {
  const TraceInfo& info = trace->info();
  std::vector<uint32_t> steps;
  for (uint64_t row = 0; row < info.rows; ++row) {
    const auto ids = trace->Experts(row);
    for (uint32_t layer = 0; layer < info.layers; ++layer) {
      uint32_t step = 0;
      for (uint32_t k = 0; k < info.top_k; ++k) {
        const int32_t id = (*ids)[layer * info.top_k + k];
        if (id == kNoExpert) continue;
        const uint32_t unit = 1u << (layer * info.experts + static_cast<uint32_t>(id));
        if (granularity == Granularity::kAccess) steps.push_back(unit);
        step |= unit;
      }
      if (granularity == Granularity::kStep) steps.push_back(step);
    }
  }
  return steps;
}

TEST(Belady, NobodyHasFewerMisses) {
  uint64_t seed = 0;
  int exact = 0;
  for (const Shape& shape : {Shape{1, 6, 1}, Shape{1, 7, 3}, Shape{2, 4, 2}, Shape{3, 3, 2}}) {
    for (uint32_t slots = 1; slots <= 6; ++slots) {
      for (int round = 0; round < 10; ++round) {
        testing::GivenTrace trace = testing::RandomTrace(++seed, shape, 14);
        for (const Granularity granularity : {Granularity::kStep, Granularity::kAccess}) {
          CountWorkload workload;
          workload.granularity = granularity;
          const std::vector<uint32_t> steps = StepsOf(&trace, granularity);
          const uint64_t fewest = Exhaustive(steps, slots).Fewest();
          const uint64_t misses = Misses(&trace, workload, "belady", slots);
          // A pool that cannot hold a step is stuck with its hits, which the rule does not foresee.
          if (slots < LargestStep(steps)) {
            EXPECT_GE(misses, fewest) << "seed " << seed << ", slots " << slots;
          } else {
            EXPECT_EQ(misses, fewest) << "seed " << seed << ", slots " << slots;
            ++exact;
          }
        }
      }
    }
  }
  EXPECT_GT(exact, 400);
}

}  // namespace
}  // namespace berth
