#include "runtime/pack/parallel.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"

namespace berth::models {
namespace {

struct Failure {
  Mutex mutex;
  Status status BERTH_GUARDED_BY(mutex);
  uint64_t index BERTH_GUARDED_BY(mutex) = UINT64_MAX;
};

// An exception must not leave a thread. Jobs allocate, and nothing else of theirs throws.
Status Guarded(const std::function<Status(uint64_t, uint32_t)>& job, uint64_t index,
               uint32_t worker) {
  try {
    return job(index, worker);
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError("out of memory: use fewer threads");
  }
}

}  // namespace

uint32_t DefaultThreads() { return std::clamp(std::thread::hardware_concurrency(), 1u, 4u); }

Status RunJobs(uint64_t jobs, uint32_t threads,
               const std::function<Status(uint64_t index, uint32_t worker)>& job) {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> failed{false};
  Failure failure;
  const auto work = [&](uint32_t worker) {
    while (!failed.load(std::memory_order_relaxed)) {
      const uint64_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= jobs) return;
      Status status = Guarded(job, index, worker);
      if (status.ok()) continue;
      failed.store(true, std::memory_order_relaxed);
      MutexLock lock(&failure.mutex);
      if (index < failure.index) {
        failure.index = index;
        failure.status = std::move(status);
      }
    }
  };
  std::vector<std::thread> others;
  for (uint32_t worker = 1; worker < std::min<uint64_t>(threads, jobs); ++worker) {
    // A thread that cannot be had costs speed, not the work.
    try {
      others.emplace_back(work, worker);
    } catch (const std::system_error&) {
      break;
    }
  }
  work(0);
  for (std::thread& other : others) other.join();
  MutexLock lock(&failure.mutex);
  return failure.status;
}

}  // namespace berth::models
