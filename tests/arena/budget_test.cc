#include "arena/budget.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::arena {
namespace {

bool Says(const Status& status, std::string_view part) {
  return status.message().find(part) != std::string_view::npos;
}

TEST(CheckBudget, WhatFitsPasses) {
  const std::vector<BudgetItem> items = {{"host tier", 600, "--host-tier"}, {"staging", 400, ""}};
  EXPECT_TRUE(CheckBudget(items, 1000).ok());
  EXPECT_TRUE(CheckBudget({}, 0).ok());
  EXPECT_EQ(CheckBudget(items, 999).code(), StatusCode::kResourceExhausted);
}

TEST(CheckBudget, SaysWhatIsAskedOfWhatAndTheNumberToLower) {
  const std::vector<BudgetItem> items = {{"staging", 64'000'000, ""},
                                         {"arena of host:0", 6'000'000'000, "--arena"},
                                         {"host tier", 16'000'000'000, "--host-tier"},
                                         {"catalog", 0, ""}};
  const Status status = CheckBudget(items, 20'000'000'000);
  for (const char* part : {"needs 22.1 GB of memory, 20.0 GB are available",
                           "(host tier 16.0 GB, arena of host:0 6.00 GB, staging 64.0 MB)",
                           "lower --host-tier (host tier) to at most 13936000000 (13.9 GB)"}) {
    EXPECT_TRUE(Says(status, part)) << status.ToString();
  }
  std::vector<BudgetItem> lowered = items;
  lowered[2].bytes = 13'936'000'000;
  EXPECT_TRUE(CheckBudget(lowered, 20'000'000'000).ok());
}

TEST(CheckBudget, NamesSeveralNumbersWhereOneIsNotEnough) {
  const std::vector<BudgetItem> items = {{"host tier", 600, "--host-tier"},
                                         {"arena of host:0", 500, "--arena"},
                                         {"arena of host:1", 500, "--arena"}};
  const Status status = CheckBudget(items, 100);
  EXPECT_TRUE(Says(status, ": lower --arena and --host-tier, by 1500 (1.50 kB) together"))
      << status.ToString();
  EXPECT_FALSE(Says(status, "at most")) << status.ToString();
  EXPECT_TRUE(Says(CheckBudget(std::vector<BudgetItem>{{"catalog", 9, ""}}, 1), "larger machine"));
}

// The number that a refusal says to lower a flag to.
uint64_t AtMost(const Status& status) {
  const std::string text(status.message());
  const std::string before = "to at most ";
  const size_t at = text.find(before);
  return at == std::string::npos ? UINT64_MAX : std::stoull(text.substr(at + before.size()));
}

TEST(CheckBudget, AFlagThatCountsUnitsIsToldANumberOfUnits) {
  constexpr uint64_t kUnit = 2'329'600;
  std::vector<BudgetItem> items = {{"arena of host:0", 1'000'000'000, "--arena"},
                                   {"ring of host:0", 1'000'000'000 * kUnit, "--ring", kUnit}};
  const Status status = CheckBudget(items, 2'000'000'000);
  EXPECT_TRUE(Says(status, ": lower --ring (ring of host:0) to at most 429 units"))
      << status.ToString();
  items[1].bytes = 429 * kUnit;
  EXPECT_TRUE(CheckBudget(items, 2'000'000'000).ok());
  items[1].bytes = 430 * kUnit;
  EXPECT_FALSE(CheckBudget(items, 2'000'000'000).ok());
}

TEST(CheckBudget, CardsThatShareAFlagAreToldWhatFitsEach) {
  std::vector<BudgetItem> items = {{"arena of host:0", 15'000'000'000, "--arena"},
                                   {"arena of host:1", 15'000'000'000, "--arena"},
                                   {"staging", 64'000'000, ""}};
  const Status status = CheckBudget(items, 20'000'000'001);
  EXPECT_TRUE(Says(status, ": lower --arena to at most 9968000000 (9.97 GB) for each card"))
      << status.ToString();
  // Of unequal cards the smaller one may stay as it is.
  items[1].bytes = 2'000'000'000;
  EXPECT_EQ(AtMost(CheckBudget(items, 10'064'000'000)), 8'000'000'000u);
  items[0].bytes = 8'000'000'000;
  EXPECT_TRUE(CheckBudget(items, 10'064'000'000).ok());
}

TEST(CheckBudget, NoFlagIsToldLessThanItMayBe) {
  // An arena below its minimum would be refused next.
  std::vector<BudgetItem> items = {{"arena of host:0", 1000, "--arena", 1, 600},
                                   {"host tier", 500, "--host-tier", 1, 0}};
  EXPECT_TRUE(Says(CheckBudget(items, 1000), "lower --host-tier (host tier) to at most 0"));
  EXPECT_EQ(AtMost(CheckBudget(items, 1200)), 200u);
  EXPECT_TRUE(Says(CheckBudget(items, 700), "--host-tier and --arena, by 800"));
  EXPECT_TRUE(Says(CheckBudget(items, 599), "larger machine"));
  items[1].least = 400;
  EXPECT_TRUE(Says(CheckBudget(items, 1200), "lower --arena (arena of host:0) to at most 700"));
}

TEST(CheckBudget, SumsThatOverflowAreTooMuch) {
  const std::vector<BudgetItem> items = {{"host tier", UINT64_MAX, "--host-tier"},
                                         {"arena", UINT64_MAX, "--arena"}};
  EXPECT_EQ(CheckBudget(items, UINT64_MAX - 1).code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace berth::arena
