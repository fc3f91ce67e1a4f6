// SeedWorker: a process that runs seeds of the fault driver until one breaks a promise. A check
// that fails inside the core, a crash and a hang end the process and are reported like any other.
#ifndef BERTH_TESTS_SCHEDULER_SEED_WORKER_H_
#define BERTH_TESTS_SCHEDULER_SEED_WORKER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tests/scheduler/fault_seed.h"

namespace berth::scheduler {

struct SeedRange {
  uint64_t first = 1, last = 1;  // both run
  uint64_t step = 1;
};

class SeedWorker {
 public:
  struct Verdict {
    bool kept = false;  // all promises, in all seeds
    uint64_t seed = 0;  // else: that broke one
    std::string error;
    SeedTotals totals;
  };

  // Begins at once. `at_failure` runs in the process, in a signal handler if that is how it ends.
  SeedWorker(const SeedRange& range, std::function<void(uint64_t seed)> at_failure);
  ~SeedWorker();
  SeedWorker(const SeedWorker&) = delete;
  SeedWorker& operator=(const SeedWorker&) = delete;

  Verdict Join();

 private:
  struct Shared;
  [[noreturn]] static void Run(const SeedRange& range, Shared* shared);

  Shared* shared_;  // memory that both processes have
  pid_t process_;
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_SEED_WORKER_H_
