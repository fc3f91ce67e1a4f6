// The split of a step's misses between the host and the links, against every other split.
#include "scheduler/miss_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/scheduler/random.h"

namespace berth::scheduler {
namespace {

// One layer; `rows` figures a unit.
MissCosts Costs(uint64_t copy, uint64_t host, uint32_t cards = 1) {
  MissCosts costs;
  costs.rows = 2;
  costs.host = {host, host + host / 2};
  costs.read = {300};
  CardMissCosts card;
  card.copy = {copy};
  card.lead = 5;
  card.tail = 7;
  card.call = {10};
  card.unit = {4, 6};
  costs.cards.assign(cards, card);
  return costs;
}

MissedUnit InRam(uint32_t card = 0, uint32_t rows = 1) { return {card, rows, true, rows <= 2}; }

uint32_t OnHost(const MissSplit& split) {
  const auto units = split.units();
  return static_cast<uint32_t>(
      std::count_if(units.begin(), units.end(), [](const MissedUnit& u) { return u.on_host; }));
}

TEST(MissSplitTest, BothSidesEndTogether) {
  const MissCosts costs = Costs(100, 100);
  MissSplit split(&costs, 1, 8, 16);
  split.BeginStep(0, 1);
  for (int u = 0; u < 6; ++u) split.AddMiss(InRam());
  split.Decide(/*split=*/true);
  EXPECT_EQ(OnHost(split), 3u);
  // Copies from 5 to 305, seen at 312, a call of three units.
  EXPECT_EQ(split.Forecast(), 312u + 10 + 3 * 4);
}

TEST(MissSplitTest, WithoutASplitTheHostComputesAllThatItMay) {
  const MissCosts costs = Costs(100, 100);
  MissSplit split(&costs, 1, 8, 16);
  split.BeginStep(0, 3);
  for (const uint32_t rows : {1u, 3u, 2u}) split.AddMiss(InRam(0, rows));
  split.Decide(/*split=*/false);
  EXPECT_TRUE(split.units()[0].on_host);
  EXPECT_FALSE(split.units()[1].on_host);  // three rows are not exact here
  EXPECT_TRUE(split.units()[2].on_host);
}

TEST(MissSplitTest, ASlowSideGetsNothing) {
  const MissCosts slow_link = Costs(1000, 10), slow_host = Costs(10, 1000);
  for (const MissCosts* costs : {&slow_link, &slow_host}) {
    MissSplit split(costs, 1, 8, 16);
    split.BeginStep(0, 1);
    for (int u = 0; u < 4; ++u) split.AddMiss(InRam());
    split.Decide(/*split=*/true);
    EXPECT_EQ(OnHost(split), costs == &slow_link ? 4u : 0u);
  }
}

TEST(MissSplitTest, WhatWasDecidedDoesNotDependOnEarlierForecasts) {
  const MissCosts costs = Costs(100, 100);
  MissSplit split(&costs, 1, 8, 16);
  std::vector<uint64_t> ends;
  for (int again = 0; again < 2; ++again) {
    split.BeginStep(0, 1);
    split.AddHit(0, 1);
    for (int u = 0; u < 5; ++u) split.AddMiss(InRam());
    split.Decide(/*split=*/true);
    ends.push_back(split.Forecast());
    split.EndStep();
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(MissSplitTest, LoadsBehindStepsWaitForAFreeLink) {
  MissCosts costs = Costs(100, 150);
  costs.rest = 250;
  MissSplit split(&costs, 1, 8, 16);
  split.BeginStep(0, 1);
  split.AddMiss(InRam());
  split.Decide(/*split=*/false);
  // The step takes 150 and leaves the link alone: with the rest there are 400.
  for (int load = 0; load < 4; ++load) {
    EXPECT_TRUE(split.HasRoom(0, 0)) << load;
    split.AddLoad(0, 0);
  }
  EXPECT_FALSE(split.HasRoom(0, 0));
  EXPECT_TRUE(split.HasRoom(0, 1));
  split.EndStep();
  split.BeginStep(0, 1);
  split.Decide(/*split=*/false);
  EXPECT_TRUE(split.HasRoom(0, 0));  // all are over
}

// The end of the step for the best of all splits, by the forecast itself.
uint64_t Best(MissSplit* split, const std::vector<MissedUnit>& units) {
  uint64_t best = UINT64_MAX;
  for (uint32_t mask = 0; mask < 1u << units.size(); ++mask) {
    split->BeginStep(0, 1);
    bool allowed = true;
    for (size_t u = 0; u < units.size(); ++u) {
      MissedUnit unit = units[u];
      const bool on_host = (mask >> u) & 1;
      allowed = allowed && (unit.may_host || !on_host);
      unit.may_host = on_host;  // so that this split is the one that is decided
      split->AddMiss(unit);
    }
    if (!allowed) continue;
    split->Decide(/*split=*/false);
    best = std::min(best, split->Forecast());
  }
  return best;
}

TEST(MissSplitTest, IsNearTheBestSplit) {
  Random random(5);
  double worst = 1, sum = 0;
  constexpr int kCases = 400;
  for (int i = 0; i < kCases; ++i) {
    const uint32_t cards = random.In(1, 2);
    const MissCosts costs = Costs(random.In(20, 300), random.In(20, 300), cards);
    MissSplit split(&costs, cards, 4, 16);
    std::vector<MissedUnit> units;
    for (uint32_t n = random.In(1, 9); n > 0; --n) {
      MissedUnit unit = InRam(random.Below(cards), random.In(1, 3));
      unit.in_ram = !random.OneIn(6);
      units.push_back(unit);
    }
    split.BeginStep(0, 1);
    for (const MissedUnit& unit : units) split.AddMiss(unit);
    split.Decide(/*split=*/true);
    const auto end = static_cast<double>(split.Forecast());
    const double ratio = end / static_cast<double>(Best(&split, units));
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  std::printf("ends at most %.3f times as late as the best split, %.4f on average\n", worst,
              sum / kCases);
  EXPECT_LT(worst, 1.25);
  EXPECT_LT(sum / kCases, 1.01);
}

}  // namespace
}  // namespace berth::scheduler
