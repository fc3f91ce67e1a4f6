// Each guard of the core, broken on purpose, in a build of the core that can be: the fault driver
// must notice within a few seeds. A driver that notices nothing checks nothing.
#include "runtime/base/guards.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/scheduler/seed_worker.h"

namespace berth::scheduler {
namespace {

constexpr uint64_t kSeeds = 300;

SeedWorker::Verdict RunSeeds(Guard broken, uint64_t first = 1) {
  broken_guard = broken;  // the worker is a copy of this process
  SeedWorker worker(SeedRange{first, kSeeds}, nullptr);
  broken_guard = Guard::kNone;
  return worker.Join();
}

// By the promise that the guard is for: a seed in which some wreck that followed was noticed first
// does not count.
void ExpectCaught(Guard guard, const std::string& how) {
  uint64_t first = 1;
  while (first <= kSeeds) {
    const SeedWorker::Verdict verdict = RunSeeds(guard, first);
    if (verdict.kept) break;
    std::printf("caught in seed %llu: %s\n", static_cast<unsigned long long>(verdict.seed),
                verdict.error.c_str());
    if (verdict.error.find(how) != std::string::npos) return;
    first = verdict.seed + 1;
  }
  FAIL() << "'" << how << "' was not noticed in " << kSeeds << " seeds";
}

TEST(GuardsTest, TheBreakableCoreIsWholeUntilItIsBroken) {
  const SeedWorker::Verdict verdict = RunSeeds(Guard::kNone);
  EXPECT_TRUE(verdict.kept) << "seed " << verdict.seed << ": " << verdict.error;
  EXPECT_EQ(verdict.totals.seeds, kSeeds);
}

TEST(GuardsTest, PublishBeforeCopy) {
  ExpectCaught(Guard::kPublishAfterCopy, "is published before its bytes are there");
}
TEST(GuardsTest, FreeBeforeTheUpdateIsApplied) {
  ExpectCaught(Guard::kFreeAfterUpdate, "a copy into a slot");
}
TEST(GuardsTest, ReuseUnderReaders) {
  ExpectCaught(Guard::kReuseAfterReaders, "from under its readers");
}
TEST(GuardsTest, EvictOwnStep) {
  ExpectCaught(Guard::kKeepOwnUnits, "evicted or moved by the step that routes to it");
}
TEST(GuardsTest, EvictLeased) {
  ExpectCaught(Guard::kKeepLeased, "is leased and not in its place");
}
TEST(GuardsTest, ReuseAnUncertainSlot) {
  ExpectCaught(Guard::kDropUncertainSlot, "a copy into a slot that a table");
}
TEST(GuardsTest, LoseARetry) {
  ExpectCaught(Guard::kRetry, "a copy starts from a slot without its bytes");
}
TEST(GuardsTest, KeepAFailedUnit) {
  ExpectCaught(Guard::kForgetFailed, "a check inside the core failed");
}
TEST(GuardsTest, DropACompletion) {
  ExpectCaught(Guard::kCountEveryCompletion, "the core is not idle");
}
TEST(GuardsTest, DecideOnACompletionsOrder) {
  ExpectCaught(Guard::kIgnoreCompletionOrder, "another order of answers led to other decisions");
}

TEST(GuardsTest, ComputeBeforeTheRead) {
  ExpectCaught(Guard::kComputeAfterRead, "a host wave starts on a slot without unit");
}
TEST(GuardsTest, ReadIntoWhatTheHostComputesFrom) {
  ExpectCaught(Guard::kKeepWhileComputed, "a read into a slot that the host computes from");
}

}  // namespace
}  // namespace berth::scheduler
