// The one place that knows hwloc.
#include "arena/topology.h"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "runtime/base/format.h"

namespace berth::arena {
namespace {

struct BitmapFree {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapFree>;

// A loaded hwloc topology, or none.
class Machine {
 public:
  Machine() {
    if (hwloc_topology_init(&topology_) != 0) return;
    initialized_ = true;
    loaded_ = hwloc_topology_load(topology_) == 0;
  }
  ~Machine() {
    if (initialized_) hwloc_topology_destroy(topology_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  bool loaded() const { return loaded_; }
  hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
  bool initialized_ = false;
  bool loaded_ = false;
};

// The process's affinity mask; the container's set where it cannot be read.
Bitmap UsableSet(hwloc_topology_t machine) {
  Bitmap set(hwloc_bitmap_alloc());
  if (set == nullptr) return set;
  hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(machine);
  if (hwloc_get_cpubind(machine, set.get(), HWLOC_CPUBIND_PROCESS) != 0 ||
      !hwloc_bitmap_intersects(set.get(), allowed)) {
    hwloc_bitmap_copy(set.get(), allowed);
  }
  hwloc_bitmap_and(set.get(), set.get(), allowed);
  return set;
}

void AddNodes(hwloc_topology_t machine, Topology* topology) {
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    topology->nodes.push_back({node->os_index, node->attr->numanode.local_memory});
  }
}

// Index of the node that the processor belongs to.
uint32_t NodeOf(hwloc_topology_t machine, hwloc_obj_t processor) {
  uint32_t index = 0;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, node)) != nullptr; ++index) {
    if (hwloc_bitmap_isset(node->cpuset, processor->os_index)) return index;
  }
  return 0;
}

}  // namespace

Topology GuessTopology() {
  Topology guess;
  guess.guessed = true;
  guess.cores = std::max(1u, std::thread::hardware_concurrency());
  for (uint32_t i = 0; i < guess.cores; ++i) guess.processors.push_back({i, i, 0});
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  const bool known = pages > 0 && page_bytes > 0;
  guess.nodes.push_back(
      {0, known ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) : 0});
  return guess;
}

Topology ReadTopology() {
  const Machine machine;
  if (!machine.loaded()) return GuessTopology();
  const Bitmap usable = UsableSet(machine.get());
  if (usable == nullptr) return GuessTopology();

  Topology topology;
  AddNodes(machine.get(), &topology);
  std::map<hwloc_obj_t, uint32_t> cores;
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(machine.get(), HWLOC_OBJ_PU, pu)) != nullptr;) {
    if (!hwloc_bitmap_isset(usable.get(), pu->os_index)) continue;
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(machine.get(), HWLOC_OBJ_CORE, pu);
    const uint32_t next = static_cast<uint32_t>(cores.size());
    const uint32_t number = cores.emplace(core != nullptr ? core : pu, next).first->second;
    topology.processors.push_back({pu->os_index, number, NodeOf(machine.get(), pu)});
  }
  topology.cores = static_cast<uint32_t>(cores.size());
  if (topology.processors.empty() || topology.nodes.empty()) return GuessTopology();
  return topology;
}

std::string Topology::Description() const {
  const auto counted = [](size_t count, const std::string& what, const char* plural) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : plural);
  };
  uint64_t bytes = 0;
  for (const NumaNode& node : nodes) bytes += node.bytes;
  std::string text = counted(cores, "core", "s") + ", " +
                     counted(processors.size(), "processor", "s") + ", " +
                     counted(nodes.size(), "NUMA node", "s");
  if (bytes > 0) text += ", " + FormatBytes(bytes);
  if (guessed) text += " (guessed: the machine's topology cannot be read)";
  return text;
}

std::vector<uint32_t> Topology::PlaceWorkers(uint32_t threads, int node) const {
  // Each core's processors in turn get rank 0, 1, ...; rank 0 of all cores comes first.
  std::map<uint32_t, uint32_t> seen;
  std::vector<std::pair<uint32_t, uint32_t>> ranked;  // rank, id
  for (const Processor& processor : processors) {
    if (node >= 0 && processor.node != static_cast<uint32_t>(node)) continue;
    ranked.emplace_back(seen[processor.core]++, processor.id);
  }
  if (ranked.empty()) return node >= 0 ? PlaceWorkers(threads) : std::vector<uint32_t>();
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<uint32_t> ids;
  ids.reserve(threads);
  for (uint32_t i = 0; i < threads; ++i) ids.push_back(ranked[i % ranked.size()].second);
  return ids;
}

}  // namespace berth::arena
