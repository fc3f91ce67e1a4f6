// Lists of recency and counts by hand: oldest first, what leaves is named.
#include "tests/policies/pool.h"

namespace berth::policies {
namespace {

using Units = std::vector<UnitIndex>;

TEST(Slru, GoldenTrace) {
  EXPECT_EQ(VictimsOf("slru:segments=2", Options(12, 4),
                      {{1},
                       {2},
                       {3},
                       {4},              // low 1 2, high 3 4: the lowest with room
                       {1},              // 1 rises, 3 sinks: low 2 3, high 4 1
                       {5},              // 2 leaves: low 3 5
                       {3},              // 3 rises, 4 sinks: low 5 4, high 1 3
                       {6},              // 5 leaves: low 4 6
                       {4, 7},           // 4 rises, 1 sinks; 6 leaves: low 1 7, high 3 4
                       {1, 7, 8},        // 3 and 4 sink; 3 leaves: low 4 8, high 1 7
                       {4, 8, 9, 10}}),  // 1 and 7 sink and leave: low 9 10, high 4 8
            (Units{2, 5, 6, 3, 1, 7}));
}

TEST(Slru, WhatDoesNotDivideGoesToTheLowSegments) {
  // 5 slots in 3 segments: 2, 2, 1. The first to come in are the lowest.
  EXPECT_EQ(VictimsOf("slru:segments=3", Options(12, 5), {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}),
            (Units{1, 2, 3, 4, 5}));
  // More segments than slots: the upper ones hold nothing, what rises into them sinks back.
  EXPECT_EQ(VictimsOf("slru:segments=4", Options(12, 2), {{1}, {2}, {2}, {3}, {2}, {4}}),
            (Units{1, 3}));
}

TEST(Arc, GoldenTrace) {
  EXPECT_EQ(VictimsOf("arc", Options(10, 2),
                      {{1},
                       {2},
                       {1},    // once 2, again 1
                       {3},    // target 0: 2 leaves: once 3, again 1, ghosts 2 |
                       {2},    // target 1: once is not above it, 1 leaves: 3 | 2, ghosts | 1
                       {1},    // target 0: 3 leaves: once nothing, again 2 1, ghosts 3 |
                       {4},    // 2 leaves: 4 | 1, ghosts 3 | 2
                       {5},    // 4 leaves, 3 is forgotten: 5 | 1, ghosts 4 | 2
                       {3}}),  // no ghost any more; 5 leaves
            (Units{2, 1, 3, 2, 4, 5}));
}

TEST(Arc, AtTheTargetItDependsOnWhoComesIn) {
  const std::vector<Units> steps = {{1}, {2}, {3}, {1}, {2},  // once 3, again 1 2
                                    {4},                      // 3 leaves: 4 | 1 2, ghosts 3 |
                                    {3},   // target 1; 1 leaves: 4 | 2 3, ghosts | 1
                                    {5},   // at the target: 2 leaves: 4 5 | 3, ghosts | 1 2
                                    {6},   // above it: 4 leaves: 5 6 | 3, ghosts 4 | 1 2
                                    {4},   // target 3; 3 leaves: 5 6 | 4, ghosts | 1 2 3
                                    {1}};  // target 2, and 1 was used again: 5 leaves
  EXPECT_EQ(VictimsOf("arc", Options(10, 3), steps), (Units{3, 1, 2, 4, 3, 5}));
}

TEST(Arc, WhatMayNotLeaveInOneListLeavesInTheOther) {
  const PolicyOptions options = Options(10, 2);
  const auto policy = MakeOrDie("arc", options);
  Pool pool(*policy, options);
  pool.Step(1, {1});
  pool.Step(2, {1, 2});  // once 2, again 1
  pool.Lease(Units{2});
  pool.Step(3, {3});  // once is above its target 0, but 2 may not leave: 1 does
  EXPECT_EQ(pool.victims(), (Units{1}));
}

TEST(InCacheLfu, GoldenTrace) {
  EXPECT_EQ(VictimsOf("in-cache-lfu", Options(10, 3),
                      {{1},
                       {2},
                       {3},
                       {2},
                       {2},
                       {3},  // uses: 1 once, 2 three times, 3 twice
                       {4},  // 1 leaves
                       {1},  // comes back with one use: 4 leaves
                       {5},  // 1 leaves
                       {5},
                       {6},       // 3 and 5 are level, 3 is older: it leaves
                       {6, 7}}),  // 6 is the step's own, 5 leaves
            (Units{1, 4, 1, 3, 5}));
}

}  // namespace
}  // namespace berth::policies
