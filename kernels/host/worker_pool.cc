#include "kernels/host/worker_pool.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <thread>

#include "runtime/base/mutex.h"

namespace berth::kernels {

uint32_t UsableProcessors() {
  // The mask may be larger than cpu_set_t on big machines; grow until the kernel is satisfied.
  for (int processors = CPU_SETSIZE; processors <= (1 << 20); processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(processors);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const bool got = sched_getaffinity(0, bytes, set) == 0;
    const int count = got ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<uint32_t>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

std::shared_ptr<WorkerPool> SharedWorkerPool(uint32_t threads) {
  static Mutex mutex;
  static std::map<uint32_t, std::weak_ptr<WorkerPool>>& pools =
      *new std::map<uint32_t, std::weak_ptr<WorkerPool>>;
  if (threads == 0) threads = UsableProcessors();
  MutexLock lock(&mutex);
  std::weak_ptr<WorkerPool>& known = pools[threads];
  std::shared_ptr<WorkerPool> pool = known.lock();
  if (pool == nullptr) {
    pool = MakeWorkerPool(threads);
    known = pool;
  }
  return pool;
}

#ifndef BERTH_HAVE_TBB
std::unique_ptr<WorkerPool> MakeWorkerPool(uint32_t threads) {
  return MakeThreadWorkerPool(threads);
}
#endif

}  // namespace berth::kernels
