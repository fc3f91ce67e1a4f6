// The one place that knows oneTBB. Built only where it was found (BERTH_HAVE_TBB).
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/host/worker_pool.h"

// oneTBB's record of an observer is freed by the last thread that leaves the arena, and a process
// that ends right after its pool does not wait for that.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BERTH_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(BERTH_ADDRESS_SANITIZER)
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:tbb::detail::r1::observe\n"; }
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
#endif

namespace berth::kernels {
namespace {

// Keeps oneTBB's threads, as long as they are in the arena, on the processor of their place.
class Pinner final : public oneapi::tbb::task_scheduler_observer {
 public:
  Pinner(oneapi::tbb::task_arena& arena, std::span<const uint32_t> processors)
      : task_scheduler_observer(arena),
        processors_(processors.begin(), processors.end()),
        all_(UsableProcessorIds()) {
    if (!processors_.empty()) observe(true);
  }
  ~Pinner() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return;
    const auto place = static_cast<size_t>(oneapi::tbb::this_task_arena::current_thread_index());
    KeepThreadOn({&processors_[place % processors_.size()], 1});
  }
  void on_scheduler_exit(bool is_worker) override {
    if (is_worker) KeepThreadOn(all_);
  }

 private:
  const std::vector<uint32_t> processors_;
  const std::vector<uint32_t> all_;
};

// All callers work inside one arena. An arena has a fixed number of places: a caller takes one of
// them or, when all are taken, waits for those inside, so several callers never add up to more
// than `threads` running threads, and a place's index is a thread number nobody else has.
class TbbWorkerPool final : public WorkerPool {
 public:
  TbbWorkerPool(uint32_t threads, std::span<const uint32_t> processors)
      : threads_(threads),
        arena_(static_cast<int>(threads), /*reserved_for_masters=*/1),
        pinner_(arena_, processors) {
    arena_.initialize();
    StartThreads();
  }

  uint32_t thread_count() const override { return threads_; }

  void ParallelFor(uint32_t count, uint32_t grain, Task task, void* context) override {
    if (count == 0) return;
    using Range = oneapi::tbb::blocked_range<uint32_t>;
    const Range all(0, count, std::max(1u, grain));
    const auto piece = [task, context](const Range& range) {
      const int thread = oneapi::tbb::this_task_arena::current_thread_index();
      task(context, range.begin(), range.end(), static_cast<uint32_t>(thread));
    };
    // simple_partitioner is the one that never hands out more than the grain.
    arena_.execute(
        [&] { oneapi::tbb::parallel_for(all, piece, oneapi::tbb::simple_partitioner()); });
  }

 private:
  // oneTBB makes its threads when there is work for them, and throws where the system gives none:
  // in whoever brought the work, or in a thread of its own, which ends the process. So the number
  // is tried with plain threads first, and then work for every place is brought here: both fail as
  // the constructor's error. A task stays until all places are taken, but no longer than a loaded
  // machine may need to start a thread.
  void StartThreads() {
    if (threads_ > 1) MakeThreadWorkerPool(threads_ - 1);
    struct Arrivals {
      uint32_t all;
      std::chrono::steady_clock::time_point until;
      std::atomic<uint32_t> count = 0;
    } arrivals{threads_, std::chrono::steady_clock::now() + std::chrono::milliseconds(50)};
    const auto arrive = [](void* context, uint32_t, uint32_t, uint32_t) {
      Arrivals* at = static_cast<Arrivals*>(context);
      ++at->count;
      while (at->count < at->all && std::chrono::steady_clock::now() < at->until) {
        std::this_thread::yield();
      }
    };
    ParallelFor(threads_, 1, arrive, &arrivals);
  }

  const uint32_t threads_;
  oneapi::tbb::task_arena arena_;
  Pinner pinner_;
};

}  // namespace

std::unique_ptr<WorkerPool> MakeWorkerPool(uint32_t threads, std::span<const uint32_t> chosen) {
  const uint32_t processors = static_cast<uint32_t>(oneapi::tbb::info::default_concurrency());
  if (threads == 0 || threads > processors) threads = processors;
  // An arena never has fewer than two places, so two callers would run on a pool of one thread.
  if (threads == 1) return MakeThreadWorkerPool(1, chosen);
  return std::make_unique<TbbWorkerPool>(threads, chosen);
}

}  // namespace berth::kernels
