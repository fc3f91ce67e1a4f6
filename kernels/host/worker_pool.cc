#include "kernels/host/worker_pool.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"

namespace berth::kernels {

std::vector<uint32_t> UsableProcessorIds() {
  std::vector<uint32_t> ids;
  // The mask may be larger than cpu_set_t on big machines; grow until the kernel is satisfied.
  for (int processors = CPU_SETSIZE; processors <= (1 << 20) && ids.empty(); processors *= 2) {
    cpu_set_t* const set = CPU_ALLOC(processors);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const bool got = sched_getaffinity(0, bytes, set) == 0;
    for (int id = 0; got && id < processors; ++id) {
      if (CPU_ISSET_S(id, bytes, set)) ids.push_back(static_cast<uint32_t>(id));
    }
    CPU_FREE(set);
  }
  return ids;
}

uint32_t UsableProcessors() {
  const auto usable = static_cast<uint32_t>(UsableProcessorIds().size());
  return usable > 0 ? usable : std::max(1u, std::thread::hardware_concurrency());
}

bool KeepThreadOn(std::span<const uint32_t> processors) {
  if (processors.empty()) return false;
  const uint32_t last = *std::max_element(processors.begin(), processors.end());
  cpu_set_t* const set = CPU_ALLOC(last + 1);
  if (set == nullptr) return false;
  const size_t bytes = CPU_ALLOC_SIZE(last + 1);
  CPU_ZERO_S(bytes, set);
  for (const uint32_t id : processors) CPU_SET_S(id, bytes, set);
  const bool kept = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return kept;
}

std::shared_ptr<WorkerPool> SharedWorkerPool(uint32_t threads,
                                             std::span<const uint32_t> processors) {
  using Key = std::pair<uint32_t, std::vector<uint32_t>>;
  static Mutex mutex;
  static std::map<Key, std::weak_ptr<WorkerPool>>& pools =
      *new std::map<Key, std::weak_ptr<WorkerPool>>;
  if (threads == 0) threads = UsableProcessors();
  MutexLock lock(&mutex);
  std::weak_ptr<WorkerPool>& known = pools[Key(threads, {processors.begin(), processors.end()})];
  std::shared_ptr<WorkerPool> pool = known.lock();
  if (pool == nullptr) {
    pool = MakeWorkerPool(threads, processors);
    known = pool;
  }
  return pool;
}

#ifndef BERTH_HAVE_TBB
std::unique_ptr<WorkerPool> MakeWorkerPool(uint32_t threads, std::span<const uint32_t> processors) {
  return MakeThreadWorkerPool(threads, processors);
}
#endif

}  // namespace berth::kernels
