#include "arena/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <string>
#include <vector>

namespace berth::arena {
namespace {

void ExpectSound(const Topology& topology) {
  ASSERT_FALSE(topology.processors.empty());
  ASSERT_FALSE(topology.nodes.empty());
  EXPECT_GE(topology.cores, 1u);
  EXPECT_LE(topology.cores, topology.processors.size());
  std::set<uint32_t> ids;
  for (const Processor& processor : topology.processors) {
    EXPECT_TRUE(ids.insert(processor.id).second);
    EXPECT_LT(processor.core, topology.cores);
    EXPECT_LT(processor.node, topology.nodes.size());
  }
  EXPECT_NE(topology.Description().find("core"), std::string::npos);
}

TEST(Topology, ThisMachine) {
  const Topology topology = ReadTopology();
  ExpectSound(topology);
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
  if (!topology.guessed) {
    EXPECT_EQ(topology.processors.size(), static_cast<size_t>(CPU_COUNT(&usable)));
    for (const Processor& processor : topology.processors) {
      EXPECT_TRUE(CPU_ISSET(processor.id, &usable));
    }
  }
}

TEST(Topology, RespectsTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &before)) last = i;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const Topology topology = ReadTopology();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  ExpectSound(topology);
  if (!topology.guessed) {
    ASSERT_EQ(topology.processors.size(), 1u);
    EXPECT_EQ(topology.processors[0].id, static_cast<uint32_t>(last));
    EXPECT_EQ(topology.cores, 1u);
  }
}

TEST(Topology, AGuessIsSoundAndSaysSo) {
  const Topology guess = GuessTopology();
  ExpectSound(guess);
  EXPECT_NE(guess.Description().find("guessed"), std::string::npos);
}

TEST(Topology, Description) {
  Topology topology;
  topology.cores = 1;
  topology.processors = {{0, 0, 0}, {1, 0, 0}};
  topology.nodes = {{0, 24'000'000'000}};
  EXPECT_EQ(topology.Description(), "1 core, 2 processors, 1 NUMA node, 24.0 GB");
}

TEST(Topology, WorkersTakeCoresBeforeHyperthreads) {
  Topology topology;
  topology.cores = 4;
  topology.nodes = {{0, 1}, {1, 1}};
  // Two threads a core; the system counts the second threads from 4 on.
  for (uint32_t i = 0; i < 8; ++i) topology.processors.push_back({i, i % 4, i % 4 / 2});
  using Ids = std::vector<uint32_t>;
  EXPECT_EQ(topology.PlaceWorkers(3), (Ids{0, 1, 2}));
  EXPECT_EQ(topology.PlaceWorkers(10), (Ids{0, 1, 2, 3, 4, 5, 6, 7, 0, 1}));
  EXPECT_EQ(topology.PlaceWorkers(3, 1), (Ids{2, 3, 6}));
  EXPECT_EQ(topology.PlaceWorkers(2, 7), (Ids{0, 1}));
  EXPECT_EQ(topology.PlaceWorkers(0), Ids{});
}

}  // namespace
}  // namespace berth::arena
