// What is counted, on traces small enough to be worked out by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/count/count.h"
#include "tests/count/given_trace.h"

namespace berth {
namespace {

using testing::GivenTrace;

constexpr int32_t A = 0, B = 1, C = 2, D = 3, E = 4;

CountResult CountOne(GivenTrace* trace, const CountWorkload& workload, const CountRequest& request,
                     bool residency = false) {
  CountOptions options;
  options.residency = residency;
  const auto results = CountMisses(trace, workload, std::vector{request}, options);
  EXPECT_TRUE(results.ok()) << results.status().ToString();
  return results.ok() ? (*results)[0] : CountResult{};
}

// Hit or miss of each access of A B C A D A B E C A D B E D C B A, one pool of three slots.
std::string Outcomes(const CountRequest& request, std::vector<double> heat = {}) {
  GivenTrace trace({1, 5, 1}, {A, B, C, A, D, A, B, E, C, A, D, B, E, D, C, B, A});
  CountWorkload workload;
  workload.granularity = Granularity::kAccess;
  workload.heat = std::move(heat);
  std::string outcomes;
  uint64_t before = 0;
  for (uint64_t passes = 1; passes <= trace.info().rows; ++passes) {
    // All accesses are played, so that a bound sees all of the future.
    workload.warmup_passes = trace.info().rows - passes;
    const uint64_t misses = CountOne(&trace, workload, request).misses;
    outcomes.insert(0, misses == before ? "h" : "m");
    before = misses;
  }
  return outcomes;
}

std::string Outcomes(const std::string& policy) {
  CountRequest request;
  request.policy = policy;
  request.pool_slots = {3};
  request.always_admit = true;
  return Outcomes(request);
}

// Each line is the pool after the accesses that it names, the next to leave first.
TEST(GoldenAccesses, Lru) {
  // ABC: A B C.  A hits: B C A.  D for B: C A D.  A hits: C D A.  B for C: D A B.
  // E for D: A B E.  C for A: B E C.  A for B: E C A.  D for E: C A D.  B for C: A D B.
  // E for A: D B E.  D hits: B E D.  C for B: E D C.  B for E: D C B.  A for D.
  EXPECT_EQ(Outcomes("lru"), "mmmhmhmmmmmmmhmmm");
}

TEST(GoldenAccesses, Fifo) {
  // ABC: A B C.  A hits.  D for A: B C D.  A for B: C D A.  B for C: D A B.  E for D: A B E.
  // C for A: B E C.  A for B: E C A.  D for E: C A D.  B for C: A D B.
  // E for A: D B E.  D hits.  C for D: B E C.  B hits.  A for B.
  EXPECT_EQ(Outcomes("fifo"), "mmmhmmmmmmmmmhmhm");
}

TEST(GoldenAccesses, Clock) {
  // ABC, A hits: A1 B0 C0.  D: A1 goes around, B leaves: C0 A0 D0.  A hits: C0 A1 D0.
  // B for C: A1 D0 B0.  E: A1 goes around, D leaves: B0 A0 E0.  C for B: A0 E0 C0.
  // A hits: A1 E0 C0.  D: A1 goes around, E leaves: C0 A0 D0.  B for C: A0 D0 B0.
  // E for A: D0 B0 E0.  D hits: D1 B0 E0.  C: D1 goes around, B leaves: E0 D0 C0.
  // B for E: D0 C0 B0.  A for D.
  EXPECT_EQ(Outcomes("clock"), "mmmhmhmmmhmmmhmmm");
}

TEST(GoldenAccesses, Sieve) {
  // ABC, A hits: A* B C, the hand at A.  D: A's mark goes, B leaves: A C D, the hand at C.
  // A hits: A* C D.  B for C: A* D B, at D.  E for D: A* B E, at B.  C for B: A* E C, at E.
  // A hits.  D for E: A* C D, at C.  B for C: A* D B, at D.  E for D: A* B E, at B.
  // D for B: A* E D, at E.  C for E: A* D C, at D.  B for D: A* C B, at C.  A hits.
  EXPECT_EQ(Outcomes("sieve"), "mmmhmhmmmhmmmmmmh");
}

TEST(GoldenAccesses, InCacheLfu) {
  // ABC, A hits: B1 C1 A2.  D for B: C1 D1 A2.  A hits: C1 D1 A3.  B for C: D1 B1 A3.
  // E for D: B1 E1 A3.  C for B: E1 C1 A3.  A hits: A4.  D for E: C1 D1 A4.  B for C: D1 B1 A4.
  // E for D: B1 E1 A4.  D for B: E1 D1 A4.  C for E: D1 C1 A4.  B for D: C1 B1 A4.  A hits.
  EXPECT_EQ(Outcomes("in-cache-lfu"), "mmmhmhmmmhmmmmmmh");
}

TEST(GoldenAccesses, LfuThatKeepsCounts) {
  // ABC, A hits: B1 C1 A2.  D for B: C1 D1 A2.  A hits: A3.  B (its second) for C: D1 B2 A3.
  // E for D: E1 B2 A3.  C (second) for E: B2 C2 A3.  A hits: A4.  D (second) for B: C2 D2 A4.
  // B (third) for C: D2 B3 A4.  E (second) for D: E2 B3 A4.  D (third) for E: B3 D3 A4.
  // C (third) for B: D3 C3 A4.  B (fourth) for D: C3 B4 A4.  A hits.
  EXPECT_EQ(Outcomes("lfu:decay=1"), "mmmhmhmmmhmmmmmmh");
}

TEST(GoldenAccesses, Slru) {
  // Two slots below, one above.  ABC: A B | C.  A rises, C sinks: B C | A.  D for B: C D | A.
  // A hits.  B for C: D B | A.  E for D: B E | A.  C for B: E C | A.  A hits.  D for E: C D | A.
  // B for C: D B | A.  E for D, D for B, C for E, B for D: C B | A.  A hits.
  EXPECT_EQ(Outcomes("slru:segments=2"), "mmmhmhmmmhmmmmmmh");
}

TEST(GoldenAccesses, TwoQueue) {
  // One slot is the queue's share; (remembered) in brackets.  ABC: A B C |.  A hits in the queue.
  // D for A: B C D | (A).  A is remembered, B leaves: C D | A (B).  B, C leaves: D | A B (C).
  // E: the queue is within its share, A leaves: D E | B (C).  C, D leaves: E | B C (D).
  // A: B leaves: E A | C (D).  D, E leaves: A | C D (E).  B: C leaves: A B | D (E).
  // E, A leaves: B | D E (A).  D hits: B | E D.  C: E leaves: B C | D (A).  B hits.
  // A, B leaves: C | D A (B).
  EXPECT_EQ(Outcomes("2q:in=1,out=3"), "mmmhmmmmmmmmmhmhm");
}

TEST(GoldenAccesses, Arc) {
  // Used once | again, (ghosts) and the target of the first.  ABC, A hits: B C | A, 0.
  // D: B leaves: C D | A (B |).  A hits.  B was in the first ghosts, target 1, C leaves:
  // D | A B (C |).  E: A leaves: D E | B (C | A).  C: target 2, B leaves: D E | C (| A B).
  // A: target 1, D leaves: E | C A (D | B).  D: target 2, C leaves: E | A D (| B C).
  // B: target 1, E leaves: | A D B (E | C).  E: target 2, A leaves: | D B E (| C A).  D hits.
  // C: target 1, B leaves: | E D C.  B: target 0, E leaves: | D C B.  A: D leaves.
  EXPECT_EQ(Outcomes("arc"), "mmmhmhmmmmmmmhmmm");
}

TEST(GoldenAccesses, S3Fifo) {
  // Small | main, (ghosts), uses; one use leads to main.  ABC, A hits: A1 B0 C0 |.
  // D: A moves over, B leaves: C0 D0 | A0 (B).  A hits: A1.  B was a ghost, C leaves:
  // D0 | A1 B0 (C).  E for D: E0 | A1 B0 (C D).  C, E leaves: | A1 B0 C0 (D E).  A hits: A2.
  // D: A goes around, B leaves: | C0 A1 D0 (E).  B for C: B0 | A1 D0 (E).
  // E, B leaves: | A1 D0 E0 (B).  D hits: D1.  C: A and D go around, E leaves: C0 | A0 D0 (B).
  // B, C leaves: | A0 D0 B0 (C).  A hits.
  EXPECT_EQ(Outcomes("s3-fifo:small=1,ghost=3,threshold=1"), "mmmhmhmmmhmmmhmmh");
}

TEST(GoldenAccesses, Static) {
  // The profile says A, B, C, D, E, the hottest first; what has to come in takes the coldest's
  // place: D for C, E for D, C for E, D for C, E for D, D for E, C for D.
  CountRequest request;
  request.policy = "static";
  request.pool_slots = {3};
  request.always_admit = true;
  EXPECT_EQ(Outcomes(request, {5, 4, 3, 2, 1}), "mmmhmhhmmhmhmmmhh");
  // D and E pass through.
  request.always_admit = false;
  EXPECT_EQ(Outcomes(request, {5, 4, 3, 2, 1}), "mmmhmhhmhhmhmmhhh");
}

TEST(GoldenAccesses, Belady) {
  // With the number of the next use.  ABC, A hits: A6 B7 C9.  D for C: A6 B7 D11.
  // A and B hit: A10 D11 B12.  E for B: A10 D11 E13.  C for E: A10 D11 C15.
  // A and D hit: D14 C15 A17.  B for A: D14 C15 B16.  E for B.  D and C hit, for the last time.
  // B and A miss.
  EXPECT_EQ(Outcomes("belady:admit=always"), "mmmhmhhmmhhmmhhmm");
}

TEST(GoldenAccesses, BeladyWithBypass) {
  // A6 B7 C9: D, used again at 11, passes.  A and B hit: C9 A10 B12: E, at 13, passes.
  // C and A hit: B12 C15 A17.  D, at 14, for A: B12 D14 C15.  B hits.  E passes for ever.
  // D, C and B hit.  A misses.
  CountRequest request;
  request.policy = "belady";
  request.pool_slots = {3};
  EXPECT_EQ(Outcomes(request), "mmmhmhhmhhmhmhhhm");
}

// Two layers, two rows a step: units of a step are counted once, and stay while it lasts.
TEST(CountMisses, StepByStep) {
  GivenTrace trace({2, 4, 2}, {0, 1, 2, 3, /**/ 1, 2, 3, kNoExpert,  //
                               0, 1, 0, 1, /**/ 3, 3, 2, 2});
  CountWorkload workload;
  workload.passes.window = 2;
  CountRequest request;
  request.pool_slots = {4};
  // Pass 0: 0 1 2 of layer 0 and 2 3 of layer 1 miss; 0 left.  Pass 1: of 0 1 3 in layer 0, 1 hits,
  // and 2 of layer 0 and 2 of layer 1 leave; then 0 1 2 of layer 1 miss, for 3 of layer 1 (which
  // was used before 0, 1 and 3 of layer 0) and 0 and 1 of layer 0.
  const CountResult result = CountOne(&trace, workload, request);
  EXPECT_EQ(result.lookups, 11u);
  EXPECT_EQ(result.misses, 10u);
  EXPECT_EQ(result.inserted, 10u);
  EXPECT_EQ(result.layer_lookups, (std::vector<uint64_t>{6, 5}));
  EXPECT_EQ(result.layer_misses, (std::vector<uint64_t>{5, 5}));
}

// A pool smaller than a step: what finds no victim passes through.
TEST(CountMisses, PoolsSmallerThanAStep) {
  GivenTrace trace({1, 6, 4}, {0, 1, 2, 3, 0, 1, 4, 5, 4, 0, 2, 3});
  for (const uint32_t slots : {0u, 1u, 2u}) {
    CountRequest request;
    request.pool_slots = {slots};
    const CountResult result = CountOne(&trace, {}, request);
    // The first ones of the first step stay for ever where they hit in each.
    const uint64_t expected[] = {12, 10, 9};
    EXPECT_EQ(result.misses, expected[slots]);
  }
}

TEST(CountMisses, ResetsWhereAllStreamsBegin) {
  // Requests of 2, 2, 1, 3 rows, always unit 0.
  GivenTrace trace({1, 2, 1}, std::vector<int32_t>(8, 0), {2, 2, 1, 3});
  CountRequest request;
  request.pool_slots = {1};
  CountWorkload workload;
  EXPECT_EQ(CountOne(&trace, workload, request).misses, 1u);
  workload.between = Between::kReset;
  EXPECT_EQ(CountOne(&trace, workload, request).misses, 4u);
  // Side by side the first two begin and end together, then the others begin together.
  workload.passes.streams = 2;
  EXPECT_EQ(CountOne(&trace, workload, request).misses, 2u);
  workload.passes.streams = 3;
  EXPECT_EQ(CountOne(&trace, workload, request).misses, 1u);
}

TEST(CountMisses, WarmsUpAndPreloads) {
  GivenTrace trace({1, 5, 1}, {A, B, C, D, D, A});
  CountRequest request;
  request.pool_slots = {2};
  CountWorkload workload;
  workload.warmup_passes = 3;
  CountResult result = CountOne(&trace, workload, request);
  EXPECT_EQ(result.lookups, 3u);
  EXPECT_EQ(result.misses, 2u);
  EXPECT_EQ(result.inserted, 2u);
  // A and B are there, A as the one used last.
  workload.warmup_passes = 0;
  workload.heat = {3, 2, 1, 0, 0};
  request.preload = true;
  result = CountOne(&trace, workload, request);
  EXPECT_EQ(result.misses, 3u);
  // The bound knows when what was there from the start is used first: E leaves, A stays for D.
  GivenTrace other({1, 5, 1}, {C, D, A, A});
  workload.heat = {3, 0, 0, 0, 9};
  request.policy = "belady:admit=always";
  EXPECT_EQ(CountOne(&other, workload, request).misses, 2u);
  workload.between = Between::kReset;
  GivenTrace twice({1, 5, 1}, {C, D, A, A, C, D, A, A}, {4, 4});
  EXPECT_EQ(CountOne(&twice, workload, request).misses, 4u);
}

TEST(CountMisses, TellsWhoIsResident) {
  GivenTrace trace({1, 4, 1}, {A, B, A, C, A, B});
  CountRequest request;
  request.pool_slots = {2};
  // Before the steps: -, A, AB, AB, AC, AC.
  for (const Granularity granularity : {Granularity::kStep, Granularity::kAccess}) {
    CountWorkload workload;
    workload.granularity = granularity;
    CountResult result = CountOne(&trace, workload, request, /*residency=*/true);
    EXPECT_EQ(result.unit_resident_steps, (std::vector<uint64_t>{5, 2, 2, 0}));
    workload.warmup_passes = 3;
    result = CountOne(&trace, workload, request, /*residency=*/true);
    EXPECT_EQ(result.unit_resident_steps, (std::vector<uint64_t>{3, 1, 2, 0}));
    EXPECT_TRUE(CountOne(&trace, workload, request).unit_resident_steps.empty());
  }
}

TEST(CountMisses, RefusesWhatDoesNotFit) {
  GivenTrace trace({2, 4, 1}, {0, 1, 2, 3});
  const auto error = [&](const CountWorkload& workload, const CountRequest& request) {
    const auto results = CountMisses(&trace, workload, std::vector{request});
    EXPECT_EQ(results.status().code(), StatusCode::kInvalidArgument);
    return std::string(results.status().message());
  };
  CountRequest request;
  request.pool_slots = {1};
  CountWorkload workload;
  workload.pool_of_layer = {0, 1};
  EXPECT_EQ(error(workload, request), "policy 'lru' is given slots for 1 pools, there are 2");
  workload.pool_of_layer = {0, 2};
  EXPECT_NE(error(workload, request).find("there is no pool 2"), std::string::npos);
  workload.pool_of_layer = {1, 1};
  EXPECT_NE(error(workload, request).find("pool 0 has no layer"), std::string::npos);
  workload.pool_of_layer = {0};
  EXPECT_NE(error(workload, request).find("1 layers, the trace has 2"), std::string::npos);
  workload.pool_of_layer = {};
  request.policy = "lrv";
  EXPECT_NE(error(workload, request).find("did you mean 'lru'"), std::string::npos);
  request.policy = "static";
  EXPECT_NE(error(workload, request).find("profile"), std::string::npos);
  request.policy = "lru";
  request.preload = true;
  EXPECT_NE(error(workload, request).find("preload"), std::string::npos);
  workload.heat = {1, 2};
  EXPECT_NE(error(workload, request).find("heat has 2 figures"), std::string::npos);
}

}  // namespace
}  // namespace berth
