// Counts that others published, or that a second program of our own found, through CountMisses.
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/count/count.h"

namespace berth {
namespace {

std::unique_ptr<TraceFile> OpenShared(const std::string& name) {
  auto trace = TraceFile::Open(std::string(BERTH_SHARED_DATA) + "/traces/" + name);
  EXPECT_TRUE(trace.ok()) << trace.status().ToString();
  return trace.ok() ? std::move(trace).value() : nullptr;
}

#define BERTH_NEEDS_SHARED_DATA()                                                       \
  do {                                                                                  \
    if (std::strlen(BERTH_SHARED_DATA) == 0) {                                          \
      GTEST_SKIP() << "needs the larger traces: set BERTH_SHARED_DATA to their folder"; \
    }                                                                                   \
  } while (false)

// The prompt-side routing of a model with 26 layers of 64 experts, top-6, from
// github.com/deepseek-ai/ESFT. The counts are those of libCacheSim (github.com/1a1a11a/libCacheSim)
// for the same accesses, one by one in the order of the file, with one pool and everything
// admitted.
//
// One rule differs: libCacheSim's SLRU gives each of four segments 83 of 333 slots, and a hit that
// makes units sink into a lowest segment of 84 evicts one on the spot (1,519,123 misses). Here the
// segments share all slots, and nothing leaves on a hit; the figure for 333 is our own.
TEST(PublishedCounts, AccessByAccess) {
  BERTH_NEEDS_SHARED_DATA();
  struct Expected {
    const char* policy;
    uint64_t with_333, with_832;
  };
  constexpr Expected kExpected[] = {{"lru", 1566207, 542715},
                                    {"fifo", 1611074, 657301},
                                    {"clock", 1483612, 529754},
                                    {"in-cache-lfu", 1878378, 996394},
                                    {"slru", 1518468, 522331},
                                    {"sieve", 1878378, 996394},
                                    {"s3-fifo", 1387267, 522340},
                                    {"arc", 1360339, 542454},
                                    {"belady:admit=always", 748439, 217755}};
  const auto trace = OpenShared("deepseek-v2-lite-64x26-top6.safetensors");
  ASSERT_NE(trace, nullptr);
  CountWorkload workload;
  workload.granularity = Granularity::kAccess;
  std::vector<CountRequest> requests;
  for (const Expected& expected : kExpected) {
    for (uint32_t slots : {333u, 832u}) {
      CountRequest request;
      request.policy = expected.policy;
      request.pool_slots = {slots};
      request.always_admit = true;
      requests.push_back(request);
    }
  }
  const auto results = CountMisses(trace.get(), workload, requests);
  ASSERT_TRUE(results.ok()) << results.status().ToString();
  for (size_t at = 0; at < requests.size(); ++at) {
    const Expected& expected = kExpected[at / 2];
    EXPECT_EQ((*results)[at].lookups, 2569788u);
    EXPECT_EQ((*results)[at].misses, at % 2 == 0 ? expected.with_333 : expected.with_832)
        << requests[at].policy << " with " << requests[at].pool_slots[0];
  }
}

// Thirty documents of ten kinds, the routing of a small model with 16 layers of 128 experts, top-8:
// step by step, equal slots per layer, one row a pass, everything admitted; miss rates in percent,
// carried over and reset at each document.
TEST(PublishedCounts, StepByStepPerLayer) {
  BERTH_NEEDS_SHARED_DATA();
  struct Expected {
    const char* policy;
    uint32_t slots;
    double carried, reset;
  };
  constexpr Expected kExpected[] = {
      {"lru", 16, 63.0, 63.0},    {"lru", 32, 43.5, 43.5},  {"lru", 64, 18.6, 18.8},
      {"lru", 96, 5.6, 6.2},      {"lfu", 16, 57.9, 57.6},  {"lfu", 32, 37.6, 37.3},
      {"lfu", 64, 15.9, 15.9},    {"lfu", 96, 5.0, 5.6},    {"belady", 16, 44.9, 44.9},
      {"belady", 32, 24.0, 24.2}, {"belady", 64, 8.0, 8.5}, {"belady", 96, 2.1, 3.0}};
  const auto trace = OpenShared("moe-128x16-top8.safetensors");
  ASSERT_NE(trace, nullptr);
  CountWorkload workload;
  for (uint32_t layer = 0; layer < trace->info().layers; ++layer) {
    workload.pool_of_layer.push_back(layer);
  }
  std::vector<CountRequest> requests;
  for (const Expected& expected : kExpected) {
    CountRequest request;
    request.policy = expected.policy;
    request.pool_slots.assign(trace->info().layers, expected.slots);
    request.always_admit = true;
    requests.push_back(request);
  }
  for (const Between between : {Between::kCarried, Between::kReset}) {
    workload.between = between;
    const auto results = CountMisses(trace.get(), workload, requests);
    ASSERT_TRUE(results.ok()) << results.status().ToString();
    for (size_t at = 0; at < requests.size(); ++at) {
      const CountResult& result = (*results)[at];
      const double percent =
          100 * static_cast<double>(result.misses) / static_cast<double>(result.lookups);
      const Expected& expected = kExpected[at];
      EXPECT_NEAR(percent, between == Between::kReset ? expected.reset : expected.carried, 0.5)
          << expected.policy << " with " << expected.slots;
    }
  }
}

}  // namespace
}  // namespace berth
