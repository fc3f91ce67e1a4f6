// WorkerPool: the host's compute threads, behind one interface. oneTBB where it is built in; a
// std::thread pool in the ThreadSanitizer build, which oneTBB is not made for.
#ifndef BERTH_KERNELS_HOST_WORKER_POOL_H_
#define BERTH_KERNELS_HOST_WORKER_POOL_H_

#include <cstdint>
#include <memory>

namespace berth::kernels {

class WorkerPool {
 public:
  // A task gets the half-open range [begin, end) of its indices and the number of the thread it
  // runs on, below thread_count(). `context` is the caller's.
  using Task = void (*)(void* context, uint32_t begin, uint32_t end, uint32_t thread);

  virtual ~WorkerPool() = default;
  virtual uint32_t thread_count() const = 0;
  // Runs [0, count) in pieces of at most `grain` and returns when all are done. May be called from
  // several threads at once; a task must not call it. No operator new once warm.
  virtual void ParallelFor(uint32_t count, uint32_t grain, Task task, void* context) = 0;
};

// threads = 0: one per processor this process may use.
std::unique_ptr<WorkerPool> MakeWorkerPool(uint32_t threads);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_WORKER_POOL_H_
