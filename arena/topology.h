// Topology: the processors and memory nodes that this process may use.
#ifndef BERTH_ARENA_TOPOLOGY_H_
#define BERTH_ARENA_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace berth::arena {

// A processor of the operating system (a hardware thread).
struct Processor {
  uint32_t id = 0;    // the system's number, as affinity masks use it
  uint32_t core = 0;  // from 0; processors of one core share it
  uint32_t node = 0;  // index into Topology::nodes
};

struct NumaNode {
  uint32_t id = 0;     // the system's number, as memory binding uses it
  uint64_t bytes = 0;  // physical memory; 0 where the system does not say
};

struct Topology {
  std::vector<Processor> processors;  // at least one
  std::vector<NumaNode> nodes;        // at least one
  uint32_t cores = 0;
  bool guessed = false;  // the machine could not be read: one core per usable processor, one node

  // "8 cores, 16 processors, 1 NUMA node, 94.5 GB".
  std::string Description() const;
  // Processor ids for `threads` threads: all cores once before any core twice, and around again
  // where there are more threads than processors. node >= 0: of that node (index) where it has any
  // processor, of all otherwise.
  std::vector<uint32_t> PlaceWorkers(uint32_t threads, int node = -1) const;
};

// Reads the machine; respects the affinity mask and the cpuset of a container. Never fails: what
// cannot be read is guessed.
Topology ReadTopology();
// What is assumed where nothing can be read.
Topology GuessTopology();

}  // namespace berth::arena

#endif  // BERTH_ARENA_TOPOLOGY_H_
