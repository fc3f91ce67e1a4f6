// WorkerPool on std::thread: one queue of jobs, each a range that workers cut pieces from.
#include <pthread.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "kernels/host/worker_pool.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {
namespace {

class ThreadWorkerPool final : public WorkerPool {
 public:
  ThreadWorkerPool(uint32_t threads, std::span<const uint32_t> processors)
      : processors_(processors.begin(), processors.end()) {
    workers_.reserve(threads);
    try {
      for (uint32_t i = 0; i < threads; ++i) workers_.emplace_back([this, i] { Work(i); });
    } catch (...) {
      Stop();
      throw;
    }
  }
  ~ThreadWorkerPool() override { Stop(); }

  uint32_t thread_count() const override { return static_cast<uint32_t>(workers_.size()); }

  // The caller only waits: the workers are as many as there are processors to use, however many
  // callers there are.
  void ParallelFor(uint32_t count, uint32_t grain, Task task, void* context) override {
    if (count == 0) return;
    Job job{task, context, count, std::max(1u, grain)};
    MutexLock lock(&mutex_);
    *tail_ = &job;
    tail_ = &job.next_job;
    work_.SignalAll();
    while (job.done < count) finished_.Wait(&mutex_);
  }

 private:
  // Lives on its caller's stack; in the queue while it has pieces that nobody took.
  struct Job {
    Task task;
    void* context;
    uint32_t count;
    uint32_t grain;
    uint32_t next = 0;  // first index that nobody took
    uint32_t done = 0;  // indices that are finished
    Job* next_job = nullptr;
  };

  void Work(uint32_t thread) BERTH_EXCLUDES(mutex_) {
    pthread_setname_np(pthread_self(), "berth-worker");
    if (!processors_.empty()) KeepThreadOn({&processors_[thread % processors_.size()], 1});
    MutexLock lock(&mutex_);
    while (true) {
      while (head_ == nullptr && !stopping_) work_.Wait(&mutex_);
      if (head_ == nullptr) return;
      Job* job = head_;
      const uint32_t begin = job->next;
      const uint32_t end = begin + std::min(job->grain, job->count - begin);
      job->next = end;
      if (end == job->count) {
        head_ = job->next_job;
        if (head_ == nullptr) tail_ = &head_;
      }
      mutex_.Unlock();
      job->task(job->context, begin, end, thread);
      mutex_.Lock();
      job->done += end - begin;
      if (job->done == job->count) finished_.SignalAll();
    }
  }

  void Stop() {
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      work_.SignalAll();
    }
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  const std::vector<uint32_t> processors_;
  Mutex mutex_;
  CondVar work_;
  CondVar finished_;
  Job* head_ BERTH_GUARDED_BY(mutex_) = nullptr;
  Job** tail_ BERTH_GUARDED_BY(mutex_) = &head_;
  bool stopping_ BERTH_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace

std::unique_ptr<WorkerPool> MakeThreadWorkerPool(uint32_t threads,
                                                 std::span<const uint32_t> processors) {
  return std::make_unique<ThreadWorkerPool>(threads == 0 ? UsableProcessors() : threads,
                                            processors);
}

}  // namespace berth::kernels
