// WorkerPool: the host's compute threads, behind one interface. oneTBB where it is built in; a
// std::thread pool in the ThreadSanitizer build, which oneTBB is not made for.
#ifndef BERTH_KERNELS_HOST_WORKER_POOL_H_
#define BERTH_KERNELS_HOST_WORKER_POOL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace berth::kernels {

class WorkerPool {
 public:
  // A task gets the half-open range [begin, end) of its indices and the number of the thread it
  // runs on, below thread_count(). A thread keeps its number for the whole of a ParallelFor, and
  // no two tasks that run at once on one pool have the same one: scratch memory may be indexed by
  // it. `context` is the caller's.
  using Task = void (*)(void* context, uint32_t begin, uint32_t end, uint32_t thread);

  virtual ~WorkerPool() = default;
  virtual uint32_t thread_count() const = 0;
  // Runs [0, count) in pieces of at most `grain` and returns when all are done. May be called from
  // several threads at once, which then share thread_count() threads; a task must not call it. No
  // operator new once warm.
  virtual void ParallelFor(uint32_t count, uint32_t grain, Task task, void* context) = 0;
};

// The processors this process may run on (its affinity mask), at least 1.
uint32_t UsableProcessors();

// Their numbers, as the system counts.
std::vector<uint32_t> UsableProcessorIds();
// Makes the calling thread run on these alone. False where the system does not allow it; the thread
// then runs where it did.
bool KeepThreadOn(std::span<const uint32_t> processors);

// The pool of this build; threads = 0: one per processor this process may use. oneTBB has no
// threads beyond that, so a pool on it is cut down to that number. Throws a
// std::exception where the system gives no more threads.
// Where `processors` are given, worker i stays on number i of them (from the start again beyond the
// last). A caller's own thread, which oneTBB lets work too, is left alone.
std::unique_ptr<WorkerPool> MakeWorkerPool(uint32_t threads,
                                           std::span<const uint32_t> processors = {});
// The std::thread pool, in every build.
std::unique_ptr<WorkerPool> MakeThreadWorkerPool(uint32_t threads,
                                                 std::span<const uint32_t> processors = {});
// One pool for all who ask for the same threads while any of them lives: two cards that
// play on one machine share its processors instead of doubling them.
std::shared_ptr<WorkerPool> SharedWorkerPool(uint32_t threads,
                                             std::span<const uint32_t> processors = {});

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_WORKER_POOL_H_
