// Miss rates on real routing: 30 documents through a 16-layer model with 128 experts, top-8.
// The expected figures come from another implementation of the same rules.
#include <array>
#include <cstdio>
#include <cstring>

#include "tests/policies/pool.h"
#include "tests/policies/routing.h"

namespace berth::policies {
namespace {

// One row a pass, `slots` per layer, everything admitted. In percent.
double MissRate(const Routing& routing, std::string_view spec, uint32_t slots, bool reset) {
  constexpr uint32_t kExperts = 128;
  size_t misses = 0;
  std::array<UnitIndex, 8> step;
  for (size_t layer = 0; layer < routing.layers; ++layer) {
    PolicyOptions options = Options(kExperts, slots, 8);
    options.first_unit = static_cast<UnitIndex>(layer) * kExperts;
    auto policy = MakeOrDie(spec, options);
    auto pool = std::make_unique<Pool>(*policy, options);
    size_t row = 0;
    for (int32_t rows : routing.request_rows) {
      if (reset) {
        policy = MakeOrDie(spec, options);
        pool = std::make_unique<Pool>(*policy, options);
      }
      for (const size_t end = row + static_cast<size_t>(rows); row < end; ++row) {
        for (size_t k = 0; k < step.size(); ++k) {
          step[k] = options.first_unit +
                    routing.experts[(row * routing.layers + layer) * step.size() + k];
        }
        misses += pool->Step(row, step);
      }
    }
  }
  return 100.0 * static_cast<double>(misses) / static_cast<double>(routing.experts.size());
}

TEST(Locality, MissRatesOfRealRouting) {
  if (std::strlen(BERTH_SHARED_DATA) == 0) {
    GTEST_SKIP() << "needs the larger traces: set BERTH_SHARED_DATA to their folder";
  }
  Routing routing;
  const std::string path = std::string(BERTH_SHARED_DATA) + "/traces/moe-128x16-top8.safetensors";
  ASSERT_TRUE(Load(path, &routing)) << path;
  ASSERT_EQ(routing.top_k, 8u);
  ASSERT_EQ(routing.experts.size(), routing.rows * routing.layers * routing.top_k);

  // Nothing here has threads or new memory per step: a sanitizer learns as much from two rates as
  // from sixteen, ten times slower.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr uint32_t kOnlySlots = 32;
#else
  constexpr uint32_t kOnlySlots = 0;
#endif
  struct Expected {
    uint32_t slots;
    const char* spec;
    double carried, reset;  // miss %
  };
  for (const Expected& expected : {Expected{16, "lru", 63.0, 63.0},
                                   {32, "lru", 43.5, 43.5},
                                   {64, "lru", 18.6, 18.8},
                                   {96, "lru", 5.6, 6.2},
                                   {16, "lfu:decay=0.98", 57.9, 57.6},
                                   {32, "lfu:decay=0.98", 37.6, 37.3},
                                   {64, "lfu:decay=0.98", 15.9, 15.9},
                                   {96, "lfu:decay=0.98", 5.0, 5.6}}) {
    if (kOnlySlots != 0 && expected.slots != kOnlySlots) continue;
    const double carried = MissRate(routing, expected.spec, expected.slots, false);
    const double reset = MissRate(routing, expected.spec, expected.slots, true);
    std::printf("%2u slots of 128, %-14s: %5.2f / %5.2f %% (expected %4.1f / %4.1f)\n",
                expected.slots, expected.spec, carried, reset, expected.carried, expected.reset);
    EXPECT_NEAR(carried, expected.carried, 0.5) << expected.spec << ' ' << expected.slots;
    EXPECT_NEAR(reset, expected.reset, 0.5) << expected.spec << ' ' << expected.slots;
  }
}

}  // namespace
}  // namespace berth::policies
