#include <numeric>

#include "tests/policies/pool.h"
#include "tests/policies/traffic.h"

namespace berth::policies {
namespace {

using Units = std::vector<UnitIndex>;

// Units `first` to `first + count - 1`.
Units Range(UnitIndex first, uint32_t count) {
  Units units(count);
  std::iota(units.begin(), units.end(), first);
  return units;
}

TEST(Hazard, WhatWasTouchedOnceDoesNotTakeTheSlotOfWhatIsTouchedAlways) {
  for (const bool bypass : {true, false}) {
    const PolicyOptions options = Options(16, 4);
    const auto policy = MakeOrDie(bypass ? "hazard" : "hazard:bypass=0", options);
    Pool pool(*policy, options);
    uint64_t pass = 0;
    while (pass < 20) pool.Step(++pass, Range(0, 4));
    pool.Step(++pass, {0, 1, 7});  // 2 and 3 may leave
    EXPECT_EQ(pool.IsResident(7), !bypass);
    // Equals leave by their touches.
    EXPECT_EQ(pool.victims(), bypass ? Units() : Units{2});
    // Whoever keeps coming gets in.
    for (int i = 0; i < 20; ++i) pool.Step(++pass, {0, 1, 7});
    EXPECT_TRUE(pool.IsResident(7));
  }
}

TEST(Hazard, WhatManyRowsOfAPromptRouteToIsWorthMore) {
  const PolicyOptions options = Options(64, 4);
  const auto victim_of = [&](std::initializer_list<uint32_t> rows) {
    const auto policy = MakeOrDie("hazard:bypass=0", options);
    Pool pool(*policy, options);
    const Units prompt = {0, 1, 2, 3};
    pool.Step(1, prompt, std::vector<uint32_t>(rows));
    pool.Step(2, {9});
    return pool.victims();
  };
  EXPECT_EQ(victim_of({30, 30, 1, 30}), Units{2});
  EXPECT_EQ(victim_of({1, 30, 30, 30}), Units{0});
  EXPECT_EQ(victim_of({30, 30, 30, 1}), Units{3});
}

TEST(Hazard, RowsThatEveryTurnHasAreNoMoreThanOneTouch) {
  const PolicyOptions options = Options(64, 4);
  const auto policy = MakeOrDie("hazard:bypass=0", options);
  Pool pool(*policy, options);
  const Units units = {0, 1, 2, 3};
  uint64_t pass = 0;
  while (pass < 1000) pool.Step(++pass, units, std::vector<uint32_t>{8, 8, 8, 8});
  std::vector<double> heat(64);
  policy->Learned(heat);
  // What a touch a turn leaves, at most.
  EXPECT_NEAR(heat[0], 50, 1e-3);
  pool.Step(pass + 40, units, std::vector<uint32_t>{8, 8, 8, 8});
  policy->Learned(heat);
  EXPECT_LT(heat[0], 50 * 0.4457 + 1.01);  // 0.98 to the 40th
}

TEST(Hazard, AnEmptySlotIsGivenToAnybody) {
  const PolicyOptions options = Options(16, 4);
  const auto policy = MakeOrDie("hazard", options);
  Pool pool(*policy, options);
  uint64_t pass = 0;
  while (pass < 50) pool.Step(++pass, {0, 1, 2});
  pool.Step(++pass, {9});
  EXPECT_TRUE(pool.IsResident(9));
}

// Misses of the passes after `warm` in a loop over `length` units, one a step.
double LoopMissRate(std::string_view spec, uint32_t length, uint32_t slots, uint64_t passes,
                    uint64_t warm) {
  const PolicyOptions options = Options(length, slots);
  const auto policy = MakeOrDie(spec, options);
  Pool pool(*policy, options);
  uint64_t misses = 0;
  for (uint64_t pass = 0; pass < passes; ++pass) {
    const size_t missed = pool.Step(pass, {static_cast<UnitIndex>(pass % length)});
    if (pass >= warm) misses += missed;
  }
  return static_cast<double>(misses) / static_cast<double>(passes - warm);
}

TEST(Hazard, ALoopThatDoesNotFitIsHeldAsFarAsItDoes) {
  // The least that is possible is one in five and a bit.
  EXPECT_EQ(LoopMissRate("lru", 40, 32, 8000, 4000), 1);
  EXPECT_LT(LoopMissRate("hazard", 40, 32, 8000, 4000), 0.25);
  EXPECT_EQ(LoopMissRate("hazard", 32, 32, 8000, 4000), 0);
}

TEST(Hazard, AScanPassesByTheHotUnits) {
  const PolicyOptions options = Options(4000, 40, 4);
  const auto policy = MakeOrDie("hazard", options);
  Pool pool(*policy, options);
  Traffic traffic(1, 0, 32);
  size_t hot_misses = 0;
  UnitIndex cold = 32;
  for (uint64_t pass = 0; pass < 1500; ++pass) {
    Units step = traffic.Draw(8);
    for (const UnitIndex unit : step) hot_misses += pass >= 300 && !pool.IsResident(unit);
    // Never seen again.
    for (int i = 0; i < 2; ++i) step.push_back(cold++);
    pool.Step(pass, step);
  }
  EXPECT_LT(hot_misses, 100u);  // of 9,600
}

TEST(Hazard, ANewHotSetReplacesTheOldOne) {
  const PolicyOptions options = Options(200, 24, 8);
  const auto policy = MakeOrDie("hazard", options);
  Pool pool(*policy, options);
  Traffic traffic(1, 0, 16);
  uint64_t pass = 0;
  for (UnitIndex first = 0; first < 160; first += 40) {
    size_t misses = 0, late = 0;
    for (int i = 0; i < 400; ++i) {
      Units step = traffic.Draw(8);
      for (UnitIndex& unit : step) unit += first;
      const size_t missed = pool.Step(pass++, step);
      misses += missed;
      if (i >= 40) late += missed;
    }
    EXPECT_LT(misses, 140u) << first;  // 16 first touches; of 3,200
    EXPECT_LT(late, 20u) << first;     // of 2,880
  }
}

// One layer. Each request has a prompt, which touches its hot set and others in one wide step, and
// then decodes with the hot set alone.
uint64_t PromptMisses(std::string_view spec) {
  constexpr uint32_t kUnits = 128, kHot = 28, kPrompt = 64;
  const PolicyOptions options = Options(kUnits, 32, 8);
  const auto policy = MakeOrDie(spec, options);
  Pool pool(*policy, options);
  Traffic traffic(3, 0, kHot), deck(4, 0, kUnits);
  Units units = Range(0, kUnits);
  uint64_t pass = 0, misses = 0;
  for (int request = 0; request < 40; ++request) {
    for (uint32_t at = 0; at < kUnits; ++at) std::swap(units[at], units[deck.Below(at + 1)]);
    misses += pool.Step(pass++, Units(units.begin(), units.begin() + kPrompt));
    for (int row = 0; row < 60; ++row) {
      Units step = traffic.Draw(8);
      for (UnitIndex& unit : step) unit = units[unit];
      misses += pool.Step(pass++, step);
    }
  }
  return misses;
}

TEST(Hazard, StopsRefusingWhereThatIsWrong) {
  EXPECT_LT(PromptMisses("hazard"), PromptMisses("hazard:bypass=0") * 103 / 100);
}

// A pool that all layers share: each pass routes to four units of each of eight layers, one layer
// a step. A unit stays for ten passes or so and gives way to another.
double SharedMissRate(std::string_view spec, uint32_t slots) {
  constexpr uint32_t kLayers = 8, kExperts = 32;
  const PolicyOptions options = Options(kLayers * kExperts, slots, 4);
  const auto policy = MakeOrDie(spec, options);
  Pool pool(*policy, options);
  Traffic traffic(2, 0, kExperts);
  std::vector<Units> routed(kLayers, Range(0, 4));
  uint64_t misses = 0, touches = 0;
  for (uint64_t pass = 0; pass < 2000; ++pass) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      Units step = routed[layer];
      if (traffic.Below(10) < 4) {
        const auto other = static_cast<UnitIndex>(traffic.Below(kExperts));
        if (std::find(step.begin(), step.end(), other) == step.end())
          step[traffic.Below(4)] = other;
      }
      routed[layer] = step;
      for (UnitIndex& unit : step) unit += layer * kExperts;
      touches += step.size();
      misses += pool.Step(pass, step);
    }
  }
  return static_cast<double>(misses) / static_cast<double>(touches);
}

TEST(Hazard, AllLayersShareAPoolSmallerThanAPass) {
  // Of 32 units a pass 24 have slots.
  EXPECT_GT(SharedMissRate("lru", 24), 0.9);
  EXPECT_LT(SharedMissRate("hazard", 24), 0.45);
  // Whose turn is near is what makes the difference.
  EXPECT_GT(SharedMissRate("hazard:bypass=0,turns=0", 24),
            SharedMissRate("hazard:bypass=0", 24) + 0.15);
}

TEST(Hazard, AGuessIsKeptThroughItsTurn) {
  const PolicyOptions options = Options(64, 8, 2);
  const auto policy = MakeOrDie("hazard:bypass=0", options);
  Pool pool(*policy, options);
  uint64_t pass = 0;
  for (; pass < 50; ++pass) pool.Step(pass, {UnitIndex(pass % 8), UnitIndex((pass + 1) % 8)});
  pool.Prefetch(pass, Units{40});
  for (; pass < 52; ++pass) {
    pool.Step(pass, {UnitIndex(20 + pass % 4), UnitIndex(30 + pass % 4)});
    EXPECT_TRUE(pool.IsResident(40)) << pass;
  }
  // Wrong after all.
  for (; pass < 60; ++pass) pool.Step(pass, {UnitIndex(20 + pass % 8), UnitIndex(30 + pass % 8)});
  EXPECT_FALSE(pool.IsResident(40));
}

TEST(Hazard, LearnsDecayedCounts) {
  const PolicyOptions options = Options(4, 2);
  const auto policy = MakeOrDie("hazard:slow=0.9", options);
  Pool pool(*policy, options);
  pool.Step(1'000'000'000'001, {0, 1});
  pool.Step(1'000'000'000'003, {1, 2});
  std::vector<double> heat(4);
  policy->Learned(heat);
  EXPECT_NEAR(heat[0], 0.81, 1e-6);
  EXPECT_NEAR(heat[1], 1.81, 1e-6);
  EXPECT_EQ(heat[2], 1);
  EXPECT_EQ(heat[3], 0);
}

TEST(Hazard, AProfileSaysWhoIsHot) {
  // On any scale: ranks, counts of a long run.
  for (const double scale : {1.0, 1e15}) {
    std::vector<double> heat(16, scale);
    for (const UnitIndex hot : {3, 5, 6, 9}) heat[hot] = 40 * scale;
    PolicyOptions options = Options(16, 4, 2);
    options.heat = heat;
    const auto policy = MakeOrDie("hazard", options);
    Pool pool(*policy, options);
    uint64_t pass = 700;
    for (const UnitIndex unit : {3, 5, 6, 9}) pool.Step(++pass, {unit});
    // As often as the others by now, but the profile knows better.
    for (const UnitIndex unit : {0, 1, 2, 4}) pool.Step(++pass, {unit});
    for (const UnitIndex unit : {3, 5, 6, 9}) EXPECT_TRUE(pool.IsResident(unit)) << unit;
  }
}

TEST(Hazard, DecisionsDependOnDistancesBetweenPassesAlone) {
  const auto victims = [](uint64_t first) {
    const PolicyOptions options = Options(64, 20, 2);
    const auto policy = MakeOrDie("hazard", options);
    Pool pool(*policy, options);
    Traffic traffic(5, 0, 64);
    uint64_t pass = first;
    for (int step = 0; step < 3000; ++step) {
      pass += traffic.Below(3);
      if (traffic.Below(500) == 0) pass += uint64_t{1} << traffic.Below(50);
      pool.Step(pass, traffic.Draw(1 + traffic.Below(6)));
    }
    return pool.victims();
  };
  EXPECT_GT(victims(0).size(), 1000u);
  EXPECT_EQ(victims(0), victims(uint64_t{1} << 60));
}

}  // namespace
}  // namespace berth::policies
