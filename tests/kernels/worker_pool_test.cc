#include "kernels/host/worker_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/new_counter.h"

namespace berth::kernels {
namespace {

struct PoolParam {
  std::string name;
  std::function<std::unique_ptr<WorkerPool>(uint32_t, std::span<const uint32_t>)> make;
};
void PrintTo(const PoolParam& param, std::ostream* out) { *out << param.name; }

class WorkerPoolTest : public ::testing::TestWithParam<PoolParam> {};

// What a task saw of one ParallelFor.
struct Seen {
  explicit Seen(uint32_t count, uint32_t threads) : times(count), busy(threads) {}
  std::vector<std::atomic<uint32_t>> times;  // by index
  std::vector<std::atomic<uint32_t>> busy;   // by thread: tasks inside right now
  std::atomic<uint32_t> largest = 0;
  std::atomic<uint32_t> clashes = 0;
};

void Look(void* context, uint32_t begin, uint32_t end, uint32_t thread) {
  Seen* seen = static_cast<Seen*>(context);
  if (thread >= seen->busy.size() || seen->busy[thread].fetch_add(1) != 0) ++seen->clashes;
  for (uint32_t i = begin; i < end; ++i) ++seen->times[i];
  uint32_t largest = seen->largest;
  while (end - begin > largest && !seen->largest.compare_exchange_weak(largest, end - begin)) {
  }
  if (thread < seen->busy.size()) --seen->busy[thread];
}

TEST_P(WorkerPoolTest, RunsEveryIndexOnceInPiecesOfTheGrain) {
  for (uint32_t asked : {1u, 2u, 5u}) {
    std::unique_ptr<WorkerPool> pool = GetParam().make(asked, {});
    const uint32_t threads = pool->thread_count();
    ASSERT_LE(threads, asked);
    ASSERT_GE(threads, std::min(asked, UsableProcessors()));
    for (uint32_t count : {0u, 1u, 7u, 64u, 1000u}) {
      for (uint32_t grain : {0u, 1u, 3u, 64u, 5000u}) {
        Seen seen(count, threads);
        pool->ParallelFor(count, grain, Look, &seen);
        for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(seen.times[i], 1u) << i;
        EXPECT_LE(seen.largest, std::max(1u, grain));
        EXPECT_EQ(seen.clashes, 0u);
      }
    }
  }
}

TEST_P(WorkerPoolTest, SeveralCallersShareItsThreads) {
  constexpr uint32_t kCallers = 4;
  for (const uint32_t threads : {1u, 2u}) {
    std::unique_ptr<WorkerPool> pool = GetParam().make(threads, {});
    // One `busy` for all callers: a thread number that two tasks have at once is a clash.
    Seen seen(10, pool->thread_count());
    std::vector<std::thread> callers;
    for (uint32_t c = 0; c < kCallers; ++c) {
      callers.emplace_back([&] {
        for (int i = 0; i < 200; ++i) pool->ParallelFor(10, 1, Look, &seen);
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const auto& times : seen.times) EXPECT_EQ(times, 200u * kCallers);
    EXPECT_EQ(seen.clashes, 0u);
  }
}

TEST_P(WorkerPoolTest, WhatTasksWroteIsSeenByTheCaller) {
  std::unique_ptr<WorkerPool> pool = GetParam().make(3, {});
  std::vector<uint64_t> values(4096);
  const auto write = [](void* context, uint32_t begin, uint32_t end, uint32_t) {
    auto& to = *static_cast<std::vector<uint64_t>*>(context);
    for (uint32_t i = begin; i < end; ++i) to[i] += i;
  };
  for (int round = 1; round <= 20; ++round) {
    pool->ParallelFor(4096, 16, write, &values);
    for (uint64_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i * round);
  }
}

TEST_P(WorkerPoolTest, AllocatesNothingWhenWarm) {
  std::unique_ptr<WorkerPool> pool = GetParam().make(2, {});
  Seen seen(100, 2);
  for (int i = 0; i < 50; ++i) pool->ParallelFor(100, 1, Look, &seen);
  const uint64_t before = NewCalls();
  for (int i = 0; i < 200; ++i) pool->ParallelFor(100, 1, Look, &seen);
  EXPECT_EQ(NewCalls(), before);
}

std::string NameOf(const ::testing::TestParamInfo<PoolParam>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Pools, WorkerPoolTest,
                         ::testing::Values(PoolParam{"built_in", MakeWorkerPool},
                                           PoolParam{"threads", MakeThreadWorkerPool}),
                         NameOf);

// The processors that its threads were on.
struct Places {
  std::mutex mutex;
  std::map<uint32_t, std::set<int>> of_thread;
};
void Where(void* context, uint32_t, uint32_t, uint32_t thread) {
  Places& places = *static_cast<Places*>(context);
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  const std::lock_guard lock(places.mutex);
  places.of_thread[thread].insert(sched_getcpu());
}

TEST_P(WorkerPoolTest, WorkersStayOnTheirProcessors) {
  const std::vector<uint32_t> usable = UsableProcessorIds();
  ASSERT_FALSE(usable.empty());
  if (usable.size() < 2) GTEST_SKIP() << "one processor is all there is";
  // The other way round, so that it is not what the system does anyway.
  const std::vector<uint32_t> chosen = {usable[1], usable[0]};
  const std::unique_ptr<WorkerPool> pool = GetParam().make(2, chosen);
  Places places;
  for (int i = 0; i < 20; ++i) pool->ParallelFor(20, 1, Where, &places);
  // This thread, which may take a place, is nobody's worker.
  for (const auto& [thread, seen] : places.of_thread) {
    if (GetParam().name == std::string("built_in") && thread == 0) continue;
    EXPECT_EQ(seen, std::set<int>{static_cast<int>(chosen[thread])}) << thread;
  }
  EXPECT_EQ(UsableProcessorIds(), usable);
}

TEST(WorkerPool, AProcessorThatIsNotThereLeavesTheThreadWhereItIs) {
  const std::vector<uint32_t> usable = UsableProcessorIds();
  const uint32_t none = 1u << 20;
  EXPECT_FALSE(KeepThreadOn({&none, 1}));
  EXPECT_FALSE(KeepThreadOn({}));
  EXPECT_EQ(UsableProcessorIds(), usable);
}

TEST(WorkerPool, ZeroThreadsMeansTheUsableProcessors) {
  EXPECT_GE(UsableProcessors(), 1u);
  EXPECT_GE(MakeWorkerPool(0)->thread_count(), 1u);
  EXPECT_LE(MakeWorkerPool(0)->thread_count(), UsableProcessors());
  EXPECT_EQ(MakeThreadWorkerPool(0)->thread_count(), UsableProcessors());
}

TEST(WorkerPool, EqualNumbersShareOnePool) {
  std::shared_ptr<WorkerPool> a = SharedWorkerPool(3);
  EXPECT_EQ(SharedWorkerPool(3), a);
  EXPECT_NE(SharedWorkerPool(2), a);
  const std::weak_ptr<WorkerPool> watch = a;
  a.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_GE(SharedWorkerPool(3)->thread_count(), 1u);
}

TEST(NewCounter, Counts) {
  const uint64_t before = NewCalls();
  auto value = std::make_unique<std::string>(100, 'x');
  EXPECT_EQ(value->size(), 100u);
  EXPECT_GE(NewCalls(), before + 2);
}

}  // namespace
}  // namespace berth::kernels
