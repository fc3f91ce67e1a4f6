// Who leaves the naive engine's pools.
#include "runtime/simulate/lru_pools.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

scheduler::Geometry TwoLayers() {
  scheduler::Geometry geometry;
  geometry.layers = 2;
  geometry.experts = 4;
  geometry.layer_class = {0, 0};
  return geometry;
}

TEST(LruPoolsTest, TheLeastRecentlyUsedLeaves) {
  LruPools pool(TwoLayers(), {3}, /*per_layer=*/false);
  EXPECT_FALSE(pool.Insert(0));
  EXPECT_FALSE(pool.Insert(5));
  EXPECT_FALSE(pool.Insert(2));
  pool.Touch(0);
  EXPECT_TRUE(pool.Insert(7));
  EXPECT_FALSE(pool.Has(5));
  EXPECT_TRUE(pool.Has(0) && pool.Has(2) && pool.Has(7));
  EXPECT_TRUE(pool.Insert(5));
  EXPECT_FALSE(pool.Has(2));
  EXPECT_TRUE(pool.Has(0));
}

// Three slots for two layers: the first has two of them.
TEST(LruPoolsTest, LayersKeepToTheirQuotas) {
  LruPools pools(TwoLayers(), {3}, /*per_layer=*/true);
  EXPECT_FALSE(pools.Insert(0));
  EXPECT_FALSE(pools.Insert(1));
  EXPECT_FALSE(pools.Insert(4));
  EXPECT_TRUE(pools.Insert(6));
  EXPECT_FALSE(pools.Has(4));
  EXPECT_TRUE(pools.Has(0) && pools.Has(1) && pools.Has(6));
  EXPECT_TRUE(pools.Insert(3));
  EXPECT_FALSE(pools.Has(0));
  EXPECT_TRUE(pools.Has(1));
  LruPools none(TwoLayers(), {0}, /*per_layer=*/false);
  EXPECT_FALSE(none.Insert(0));
  EXPECT_FALSE(none.Has(0));
}

}  // namespace
}  // namespace berth
