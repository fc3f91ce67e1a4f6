#include "arena/budget.h"

#include <gtest/gtest.h>

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
  EXPECT_TRUE(Says(status, ": lower --host-tier and --arena")) << status.ToString();
  EXPECT_FALSE(Says(status, "at most")) << status.ToString();
  EXPECT_TRUE(Says(CheckBudget(std::vector<BudgetItem>{{"catalog", 9, ""}}, 1), "larger machine"));
}

TEST(CheckBudget, SumsThatOverflowAreTooMuch) {
  const std::vector<BudgetItem> items = {{"host tier", UINT64_MAX, "--host-tier"},
                                         {"arena", UINT64_MAX, "--arena"}};
  EXPECT_EQ(CheckBudget(items, UINT64_MAX - 1).code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace berth::arena
