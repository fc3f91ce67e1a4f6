// The curve of all sizes is what LRU counts at each of them.
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/count/count.h"
#include "runtime/trace/stats/lru_stack.h"
#include "tests/count/given_trace.h"

namespace berth {
namespace {

using testing::Shape;

struct Case {
  Shape shape;
  std::vector<uint32_t> pool_of_layer;
  uint32_t streams;
};

uint32_t SlotsOf(const Case& given, uint32_t pool, uint32_t slots) {
  uint32_t layers = given.pool_of_layer.empty() ? given.shape.layers : 0;
  for (const uint32_t each : given.pool_of_layer) layers += each == pool ? 1 : 0;
  return std::min(slots, layers * given.shape.experts);
}

void ExpectEqual(const Case& given, const CountWorkload& workload, testing::GivenTrace* trace,
                 uint32_t smallest) {
  const auto curve = CountLruCurve(trace, workload);
  ASSERT_TRUE(curve.ok()) << curve.status().ToString();
  const auto pools = static_cast<uint32_t>(curve->pool_misses.size());
  std::vector<CountRequest> requests;
  const uint32_t most = given.shape.layers * given.shape.experts;
  for (uint32_t slots = smallest; slots <= most; ++slots) {
    CountRequest request;
    for (uint32_t pool = 0; pool < pools; ++pool) {
      request.pool_slots.push_back(SlotsOf(given, pool, slots));
    }
    requests.push_back(request);
  }
  const auto results = CountMisses(trace, workload, requests);
  ASSERT_TRUE(results.ok()) << results.status().ToString();
  for (size_t at = 0; at < requests.size(); ++at) {
    const CountResult& result = (*results)[at];
    EXPECT_EQ(result.lookups, curve->lookups);
    EXPECT_EQ(result.layer_lookups, curve->layer_lookups);
    uint64_t misses = 0;
    for (uint32_t pool = 0; pool < pools; ++pool) {
      misses += curve->pool_misses[pool][requests[at].pool_slots[pool]];
    }
    EXPECT_EQ(result.misses, misses) << "slots " << smallest + at;
    for (uint32_t layer = 0; layer < given.shape.layers; ++layer) {
      const uint32_t pool = given.pool_of_layer.empty() ? 0 : given.pool_of_layer[layer];
      EXPECT_EQ(result.layer_misses[layer],
                curve->layer_misses[layer][requests[at].pool_slots[pool]])
          << "slots " << smallest + at << ", layer " << layer;
    }
  }
}

TEST(LruCurve, EqualsLruAtEverySize) {
  const Case cases[] = {{{1, 40, 3}, {}, 1},
                        {{4, 12, 2}, {}, 1},
                        {{4, 12, 2}, {0, 1, 2, 3}, 1},
                        {{4, 12, 2}, {0, 1, 0, 1}, 3},
                        {{3, 30, 4}, {}, 2}};
  uint64_t seed = 1;
  for (const Case& given : cases) {
    testing::GivenTrace trace = testing::RandomTrace(seed++, given.shape, 500);
    for (const Granularity granularity : {Granularity::kStep, Granularity::kAccess}) {
      for (const Between between : {Between::kCarried, Between::kReset}) {
        for (const uint64_t warmup : {0, 37}) {
          CountWorkload workload;
          workload.granularity = granularity;
          workload.between = between;
          workload.passes.streams = given.streams;
          workload.warmup_passes = warmup;
          workload.pool_of_layer = given.pool_of_layer;
          const bool steps = granularity == Granularity::kStep;
          ExpectEqual(given, workload, &trace, steps ? given.streams * given.shape.top_k : 0);
        }
      }
    }
  }
}

// More units than one level of counts has room for, and many moves to the front.
TEST(LruStack, KnowsEveryDepth) {
  constexpr uint32_t kUnits = 3000;
  trace::LruStack stack(kUnits, kUnits);
  std::vector<uint32_t> order;  // the one used last at the back
  std::mt19937_64 random(1);
  for (int use = 0; use < 60000; ++use) {
    const auto unit = static_cast<uint32_t>(random() % (random() % kUnits + 1));
    const auto found = std::find(order.rbegin(), order.rend(), unit);
    const auto depth = static_cast<uint32_t>(found - order.rbegin()) + 1;
    ASSERT_EQ(stack.Depth(unit), found == order.rend() ? 0 : depth) << use;
    if (found != order.rend()) order.erase(std::next(found).base());
    order.push_back(unit);
    stack.Use(unit);
    if (use != 30000) continue;
    stack.Forget();
    order.clear();
  }
}

}  // namespace
}  // namespace berth
