#include "tests/scheduler/seed_worker.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/base/check.h"

namespace berth::scheduler {

struct SeedWorker::Shared {
  uint64_t seed;  // at hand
  bool broken;
  char error[1000];
  SeedTotals totals;
};

namespace {

// Far more than any seed takes, under sanitizers on a busy machine too.
constexpr unsigned kSecondsPerSeed = 60;

// Of the worker's process: what a signal handler needs. A failed check is code of our own that has
// given up, so the handler may do what other code does. A hang may be anywhere: should the report
// hang too, the process ends soon after.
constexpr unsigned kSecondsForTheReport = 5;
std::function<void(uint64_t seed)> tell_failure;
const uint64_t* seed_at_hand;
char* error_at_hand;
size_t error_bytes;

void Died(int signal) {
  std::signal(signal, SIG_DFL);
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(kSecondsForTheReport);
  std::snprintf(error_at_hand, error_bytes, "%s", LastSeedError().c_str());
  if (tell_failure) tell_failure(*seed_at_hand);
  std::raise(signal);
}

}  // namespace

SeedWorker::SeedWorker(const SeedRange& range, std::function<void(uint64_t seed)> at_failure) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BERTH_CHECK_MSG(memory != MAP_FAILED, "no memory to share with a worker");
  shared_ = new (memory) Shared();
  std::fflush(nullptr);
  process_ = fork();
  BERTH_CHECK_MSG(process_ >= 0, "no process for a worker");
  if (process_ > 0) return;
  tell_failure = std::move(at_failure);
  seed_at_hand = &shared_->seed;
  error_at_hand = shared_->error;
  error_bytes = sizeof(shared_->error);
  std::signal(SIGABRT, Died);
  std::signal(SIGALRM, Died);
  Run(range, shared_);
}

SeedWorker::~SeedWorker() {
  if (process_ > 0) (void)Join();
  munmap(shared_, sizeof(Shared));
}

void SeedWorker::Run(const SeedRange& range, Shared* shared) {
  for (uint64_t seed = range.first; seed <= range.last; seed += range.step) {
    shared->seed = seed;
    alarm(kSecondsPerSeed);
    const std::string error = RunFaultSeed(seed, &shared->totals);
    if (error.empty()) continue;
    shared->broken = true;
    std::snprintf(shared->error, sizeof(shared->error), "%s", error.c_str());
    if (tell_failure) tell_failure(seed);
    break;
  }
  alarm(0);
  std::fflush(nullptr);
  _exit(shared->broken ? 1 : 0);
}

SeedWorker::Verdict SeedWorker::Join() {
  int ended = 0;
  while (waitpid(process_, &ended, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  Verdict verdict;
  verdict.kept = WIFEXITED(ended) && WEXITSTATUS(ended) == 0 && !shared_->broken;
  verdict.seed = shared_->seed;
  verdict.totals = shared_->totals;
  if (shared_->error[0] != '\0') {
    verdict.error = shared_->error;
  } else if (WIFSIGNALED(ended)) {
    const int signal = WTERMSIG(ended);
    verdict.error = signal == SIGABRT   ? "a check inside the core failed"
                    : signal == SIGALRM ? "it hangs"
                                        : std::string("it died: ") + strsignal(signal);
  } else if (!verdict.kept) {
    verdict.error = "the process ended with " + std::to_string(WEXITSTATUS(ended));
  }
  return verdict;
}

}  // namespace berth::scheduler
