// The queues by hand: oldest first, what leaves is named.
#include "tests/policies/pool.h"

namespace berth::policies {
namespace {

using Units = std::vector<UnitIndex>;

TEST(Fifo, GoldenTrace) {
  EXPECT_EQ(VictimsOf("fifo", Options(10, 3),
                      {{1},
                       {2},
                       {3},
                       {1},     // 1 2 3: a use changes nothing
                       {4},     // 1 leaves: 2 3 4
                       {1},     // 2 leaves: 3 4 1
                       {3, 5},  // 3 is the step's own: 4 leaves: 3 1 5
                       {6}}),   // 3 leaves
            (Units{1, 2, 4, 3}));
}

TEST(Clock, GoldenTrace) {
  EXPECT_EQ(VictimsOf("clock", Options(10, 3),
                      {{1},
                       {2},
                       {3},
                       {1},  // 1* 2 3
                       {4},  // 1 is spared, 2 leaves: 3 1 4
                       {3},
                       {5},        // 3 is spared, 1 leaves: 4 3 5
                       {4, 6},     // 4 is spared, 3 leaves: 5 4 6
                       {5, 4, 7},  // 5 and 4 are spared, 6 leaves: 5 4 7
                       {5, 8}}),   // 5 is spared, 4 leaves: 7 5 8
            (Units{2, 1, 3, 6, 4}));
}

TEST(Clock, AUnitThatMayNotLeaveKeepsItsPlace) {
  const PolicyOptions options = Options(10, 3);
  const auto policy = MakeOrDie("clock", options);
  Pool pool(*policy, options);
  pool.Step(1, {1, 2, 3});
  pool.Lease(Units{1});
  pool.Step(2, {4});                       // 2 leaves: 1 3 4
  pool.Step(3, {1});                       // 1* 3 4
  pool.Step(4, {5});                       // 1 is spared, 3 leaves: 4 1 5
  EXPECT_EQ(pool.Step(5, {6, 7}), 2u);     // 4 and 5 leave: 1 6 7
  EXPECT_EQ(pool.Step(6, {1, 6, 8}), 1u);  // 1 is spared, 6 is spared, 7 leaves
  EXPECT_EQ(pool.victims(), (Units{2, 3, 4, 5, 7}));
}

TEST(Clock, MoreBitsAreMoreChances) {
  const std::vector<Units> steps = {{1}, {2}, {1}, {1}, {1}, {1}, {3}, {4}, {5}, {6}};
  EXPECT_EQ(VictimsOf("clock:bits=2", Options(10, 2), steps), (Units{2, 3, 4, 1}));
  EXPECT_EQ(VictimsOf("clock", Options(10, 2), steps), (Units{2, 1, 3, 4}));
}

TEST(Sieve, GoldenTrace) {
  const PolicyOptions options = Options(10, 3);
  const auto policy = MakeOrDie("sieve", options);
  Pool pool(*policy, options);
  uint64_t pass = 0;
  for (UnitIndex unit : {1, 2, 3, 1}) pool.Step(++pass, {unit});  // 1* 2 3
  pool.Step(++pass, {4});     // 1 is spared, 2 leaves, the hand is at 3: 1 3 4
  pool.Step(++pass, {5});     // 3 leaves, the hand is at 4: 1 4 5
  pool.Step(++pass, {4});     // 1 4* 5
  pool.Step(++pass, {6});     // 4 is spared, 5 leaves, the hand is at the end: 1 4 6
  pool.Step(++pass, {7});     // it starts over: 1 leaves, the hand is at 4: 4 6 7
  pool.Step(++pass, {4, 8});  // 4 is spared, 6 leaves, the hand is at 7: 4 7 8
  pool.Lease(Units{7});
  pool.Step(++pass, {9});  // 7 may not leave, 8 does: 4 7 9
  EXPECT_EQ(pool.victims(), (Units{2, 3, 5, 1, 6, 8}));
  // 4 leaves; 7 may not, and 9 is the step's own.
  EXPECT_EQ(pool.Step(++pass, {9, 1, 2}), 2u);
  EXPECT_EQ(pool.victims().size(), 7u);
  EXPECT_EQ(pool.victims().back(), 4u);
  EXPECT_EQ(pool.most_withheld(), 0u);
}

TEST(S3Fifo, GoldenTrace) {
  EXPECT_EQ(VictimsOf("s3-fifo:small=2,ghost=2,threshold=1", Options(10, 4),
                      {{1},
                       {2},
                       {3},
                       {4},
                       {1},  // small 1* 2 3 4
                       {5},  // 1 moves, 2 leaves: small 3 4 5, main 1, ghosts 2
                       {2},  // a ghost; 3 leaves: small 4 5, main 1 2, ghosts 3
                       {4},
                       {6},  // 4 moves, 5 leaves: small 6, main 1 2 4, ghosts 3 5
                       {7},  // main is above its share: 1 leaves: small 6 7, main 2 4
                       {1},  // 1 was forgotten; 6 leaves: small 7 1, ghosts 5 6
                       {3},  // so was 3; 7 leaves: small 1 3, ghosts 6 7
                       {2},
                       {6},       // a ghost; 1 leaves: small 3, main 2* 4 6, ghosts 7 1
                       {8},       // 2 goes around, 4 leaves: small 3 8, main 6 2
                       {3, 9}}),  // 3 moves, 8 leaves
            (Units{2, 3, 5, 1, 6, 7, 1, 4, 8}));
}

TEST(S3Fifo, AnotherWayOutIsNotRemembered) {
  const PolicyOptions options = Options(10, 2);
  const auto policy = MakeOrDie("s3-fifo:small=1,ghost=2", options);
  Pool pool(*policy, options);
  pool.Step(1, {1, 2});
  pool.Fail(1);
  pool.Step(2, {1});     // small 2 1: 1 was not evicted, so it is not remembered
  pool.Step(3, {3});     // 2 leaves
  pool.Step(4, {4});     // 1 leaves, from the small queue
  pool.Step(5, {1});     // 3 leaves: small 4, main 1
  pool.Step(6, {5, 6});  // 4 leaves; main is within its share, but the small one has only 5
  EXPECT_EQ(pool.victims(), (Units{2, 1, 3, 4, 1}));
}

TEST(TwoQueue, GoldenTrace) {
  EXPECT_EQ(VictimsOf("2q:in=2,out=2", Options(10, 4),
                      {{1},
                       {2},
                       {3},
                       {4},
                       {1},  // in 1 2 3 4: a use changes nothing
                       {5},  // 1 leaves: in 2 3 4 5, out 1
                       {1},  // remembered; 2 leaves: in 3 4 5, main 1, out 2
                       {6},  // 3 leaves: in 4 5 6, main 1, out 2 3
                       {2},  // remembered; 4 leaves: in 5 6, main 1 2, out 3 4
                       {1},
                       {7},             // 2 leaves from main: in 5 6 7, main 1
                       {2},             // forgotten; 5 leaves: in 6 7 2, main 1, out 4 5
                       {6, 8},          // 6 is the step's own, 7 leaves: in 6 2 8, main 1
                       {6, 2, 8, 9}}),  // main gives: 1 leaves
            (Units{1, 2, 3, 4, 2, 5, 7, 1}));
}

TEST(TwoQueue, AnotherWayOutIsNotRemembered) {
  const PolicyOptions options = Options(10, 2);
  const auto policy = MakeOrDie("2q:in=1,out=2", options);
  Pool pool(*policy, options);
  pool.Step(1, {1, 2});
  pool.Fail(1);
  pool.Step(2, {1});  // in 2 1: 1 was not evicted
  pool.Step(3, {3});  // 2 leaves
  pool.Step(4, {4});  // 1 leaves, from the queue
  EXPECT_EQ(pool.victims(), (Units{2, 1}));
}

TEST(TwoQueue, APrefetchedUnitIsRememberedToo) {
  const PolicyOptions options = Options(10, 2);
  const auto policy = MakeOrDie("2q:in=1,out=2", options);
  Pool pool(*policy, options);
  pool.Step(1, {1, 2});
  pool.Step(2, {3});           // 1 leaves: in 2 3, out 1
  pool.Prefetch(3, Units{1});  // 2 leaves: in 3, main 1
  pool.Step(4, {4});           // in is within its share: 1 leaves from main
  pool.Step(5, {1});           // and is not remembered: 3 leaves
  EXPECT_EQ(pool.victims(), (Units{1, 2, 1, 3}));
}

}  // namespace
}  // namespace berth::policies
