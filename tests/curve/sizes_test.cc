// Sizes as people write them, and how they are split over pools.
#include "runtime/curve/sizes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "runtime/curve/pools.h"

namespace berth::curve {
namespace {

using Slots = std::vector<uint32_t>;

// Four layers of ten experts; layers 0 and 2 have units twice as large where `bytes` is given.
TraceInfo Trace(bool bytes = false) {
  TraceInfo trace;
  trace.layers = 4;
  trace.experts = 10;
  trace.top_k = 2;
  if (bytes) trace.layer_unit_bytes = {2048, 1024, 2048, 1024};
  return trace;
}

Pools Made(const TraceInfo& trace, Scope scope, const std::vector<uint64_t>& unit_bytes = {}) {
  Result<Pools> pools = MakePools(trace, scope, unit_bytes);
  EXPECT_TRUE(pools.ok()) << pools.status().ToString();
  return std::move(pools).value();
}

std::vector<Size> Placed(const std::string& list, const Pools& pools) {
  const auto requests = ParseSizes(list);
  EXPECT_TRUE(requests.ok()) << requests.status().ToString();
  const auto sizes = PlaceSizes(*requests, pools);
  EXPECT_TRUE(sizes.ok()) << sizes.status().ToString();
  return sizes.ok() ? *sizes : std::vector<Size>();
}

std::string Refused(const std::string& list, const Pools& pools) {
  const auto requests = ParseSizes(list);
  if (!requests.ok()) return std::string(requests.status().message());
  const auto sizes = PlaceSizes(*requests, pools);
  return sizes.ok() ? "" : std::string(sizes.status().message());
}

TEST(CurveSizes, EveryWayToSayOne) {
  const Pools pools = Made(Trace(), Scope::kShared, {1000});
  const std::vector<Size> sizes = Placed("30, 12.5% ,4/layer,24KiB", pools);
  ASSERT_EQ(sizes.size(), 4u);
  EXPECT_EQ(sizes[0].label, "12.5%");
  EXPECT_EQ(sizes[0].slots, 5u);
  EXPECT_EQ(sizes[1].label, "4/layer");
  EXPECT_EQ(sizes[1].slots, 16u);
  // An arena rounds units of 1000 bytes up to 1024.
  EXPECT_EQ(sizes[2].label, "24KiB");
  EXPECT_EQ(sizes[2].slots, 24u);
  EXPECT_EQ(pools.BytesOf(sizes[2].pool_slots), 24u * 1024);
  EXPECT_EQ(sizes[3].slots, 30u);
  EXPECT_EQ(sizes[3].pool_slots, Slots{30});
}

TEST(CurveSizes, SharesAreRoundedToTheNearestSlot) {
  TraceInfo trace = Trace();
  trace.layers = 26;
  trace.experts = 64;
  const Pools pools = Made(trace, Scope::kGlobal);
  const std::vector<Size> sizes = Placed("20%,50%", pools);
  EXPECT_EQ(sizes[0].slots, 333u);  // of 332.8
  EXPECT_EQ(sizes[1].slots, 832u);
}

TEST(CurveSizes, EqualSizesStandOnce) {
  const Pools pools = Made(Trace(), Scope::kShared);
  EXPECT_EQ(Placed("20,50%,5/layer", pools).size(), 1u);
}

TEST(CurveSizes, WhatIsRefused) {
  const Pools pools = Made(Trace(), Scope::kShared);
  for (const char* list : {"", "0", "0%", "101%", "-3", "3.5", "x", "12%,", ",12%", "5/layer/layer",
                           "1e3", "0/layer", "99999999999999999999", "nan%", "4 GB/s", "%"}) {
    EXPECT_NE(Refused(list, pools).find("expected a share"), std::string::npos) << list;
  }
  EXPECT_NE(Refused("41", pools).find("more than the 40 units"), std::string::npos);
  EXPECT_NE(Refused("11/layer", pools).find("more than the 40 units"), std::string::npos);
  EXPECT_NE(Refused("18446744073709551615/layer", pools).find("more than the 40 units"),
            std::string::npos);
  EXPECT_NE(Refused("4GB", pools).find("--unit-bytes"), std::string::npos);
  EXPECT_NE(Refused("1%", pools).find("no slot for any unit"), std::string::npos);
  EXPECT_NE(Refused("3", Made(Trace(), Scope::kPerLayer)).find("some of the layers"),
            std::string::npos);
}

TEST(CurveSizes, MoreBytesThanAllUnitsAreAllUnits) {
  EXPECT_EQ(Placed("1TB", Made(Trace(true), Scope::kShared))[0].slots, 40u);
}

TEST(CurveSizes, TheCliffAndTheMinimum) {
  // A token's cycle is 4 x 2 units, an arena has at least 3 x 2.
  const std::vector<Size> shared = Placed("5,7,8", Made(Trace(), Scope::kShared));
  EXPECT_TRUE(shared[0].below_minimum);
  EXPECT_TRUE(shared[0].below_cycle);
  EXPECT_FALSE(shared[1].below_minimum);
  EXPECT_TRUE(shared[1].below_cycle);
  EXPECT_FALSE(shared[2].below_cycle);
  // Quotas know no cliff; the minimum is that of all of them.
  const std::vector<Size> quotas = Placed("5,6", Made(Trace(), Scope::kPerLayer));
  EXPECT_FALSE(quotas[0].below_cycle);
  EXPECT_TRUE(quotas[0].below_minimum);
  EXPECT_FALSE(quotas[1].below_minimum);
}

TEST(CurveSizes, TheLadderBeginsAtTheMinimum) {
  const auto sizes = PlaceSizes({}, Made(Trace(), Scope::kShared));
  ASSERT_TRUE(sizes.ok());
  ASSERT_FALSE(sizes->empty());
  EXPECT_EQ(sizes->front().slots, 10u);
  for (const Size& size : *sizes) EXPECT_FALSE(size.below_minimum);
  TraceInfo tiny = Trace();
  tiny.layers = 1;
  tiny.experts = 2;
  const auto whole = PlaceSizes({}, Made(tiny, Scope::kShared));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->back().slots, 2u);
}

TEST(CurvePools, OneForEachUnitSizeLayerOrAll) {
  const Pools shared = Made(Trace(true), Scope::kShared);
  EXPECT_EQ(shared.pools.size(), 2u);
  EXPECT_EQ(shared.pool_of_layer, (Slots{0, 1, 0, 1}));
  EXPECT_EQ(Made(Trace(true), Scope::kGlobal).pool_of_layer, (Slots{0, 0, 0, 0}));
  EXPECT_EQ(Made(Trace(), Scope::kShared).pool_of_layer, (Slots{0, 0, 0, 0}));
  const Pools quotas = Made(Trace(true), Scope::kPerLayer);
  EXPECT_EQ(quotas.pools.size(), 4u);
  EXPECT_EQ(quotas.pool_of_layer, (Slots{0, 2, 1, 3}));
  // Bytes that are given for all units leave one size.
  EXPECT_EQ(Made(Trace(true), Scope::kShared, {512}).pools.size(), 1u);
}

TEST(CurvePools, SlotsAreSplitAsTheCoreSplitsThem) {
  EXPECT_EQ(SplitSlots(Made(Trace(), Scope::kPerLayer), 18), (Slots{5, 5, 4, 4}));
  const Pools shared = Made(Trace(true), Scope::kShared);
  EXPECT_EQ(SplitSlots(shared, 20), (Slots{10, 10}));
  EXPECT_EQ(SplitSlots(shared, 21), (Slots{11, 10}));
  EXPECT_EQ(SplitSlots(shared, 40), (Slots{20, 20}));
  for (uint64_t slots = 0; slots <= 40; ++slots) {
    for (const Scope scope : {Scope::kShared, Scope::kPerLayer, Scope::kGlobal}) {
      const Slots split = SplitSlots(Made(Trace(true), scope), slots);
      EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0u), slots);
    }
  }
}

TEST(CurvePools, BytesGoToTheClassesInProportion) {
  const Pools shared = Made(Trace(true), Scope::kShared);
  EXPECT_EQ(SplitBytes(shared, 30 * 1024), (Slots{10, 10}));
  EXPECT_EQ(shared.BytesOf({10, 10}), 30u * 1024);
  // Below what an arena takes (6 slots of each class) the same share of each.
  EXPECT_EQ(SplitBytes(shared, 9 * 1024), (Slots{3, 3}));
  EXPECT_EQ(SplitBytes(shared, 1), (Slots{0, 0}));
}

TEST(CurvePools, ASizeForEachLayer) {
  const Pools stated = Made(Trace(true), Scope::kShared);
  const Pools given = Made(Trace(), Scope::kShared, {2048, 1024, 2048, 1024});
  ASSERT_EQ(given.classes.size(), 2u);
  EXPECT_EQ(given.pool_of_layer, stated.pool_of_layer);
  EXPECT_EQ(SplitBytes(given, 30 * 1024), SplitBytes(stated, 30 * 1024));
}

TEST(CurvePools, WhatIsRefused) {
  TraceInfo huge = Trace();
  huge.layers = 1u << 16;
  huge.experts = 1u << 20;
  EXPECT_EQ(MakePools(huge, Scope::kShared, {}).status().code(), StatusCode::kInvalidArgument);
  const std::vector<std::vector<uint64_t>> wrong = {{UINT64_MAX}, {0}, {1, 2}, {1, 2, 3, 0}};
  for (const std::vector<uint64_t>& bytes : wrong) {
    EXPECT_EQ(MakePools(Trace(), Scope::kShared, bytes).status().code(),
              StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace berth::curve
