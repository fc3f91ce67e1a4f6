#include "kernels/gpu/completion_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

namespace berth::kernels::gpu {
namespace {

// Rounds without news before it begins to sleep: some 100 us, which the shortest work takes.
constexpr uint32_t kRoundsAwake = 100;
constexpr uint32_t kShortestSleepUs = 5;
constexpr uint32_t kLongestSleepUs = 50;

}  // namespace

CompletionThread::CompletionThread(const std::string& name)
    : thread_([this, name] { Loop(name); }) {}

CompletionThread::~CompletionThread() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
  }
  work_.Signal();
  thread_.join();
}

void CompletionThread::Add(Client* client) {
  MutexLock lock(&mutex_);
  clients_.push_back(client);
}

void CompletionThread::Remove(Client* client) {
  MutexLock lock(&mutex_);
  std::erase(clients_, client);
  while (called_ == client) left_.Wait(&mutex_);
}

void CompletionThread::Posted() {
  {
    MutexLock lock(&mutex_);
    if (++on_the_way_ != 1) return;  // it is awake
  }
  work_.Signal();
}

uint32_t CompletionThread::Round() {
  uint32_t delivered = 0;
  // The list may change while the lock is away; whoever is missed comes next round.
  for (size_t i = 0; i < clients_.size(); ++i) {
    called_ = clients_[i];
    Client* const client = called_;
    mutex_.Unlock();
    const bool done = client->DeliverOldest();
    mutex_.Lock();
    called_ = nullptr;
    left_.SignalAll();
    if (!done) continue;
    ++delivered;
    --on_the_way_;
  }
  return delivered;
}

void CompletionThread::Pause(uint32_t idle_rounds) {
  if (idle_rounds < kRoundsAwake) {
    sched_yield();
    return;
  }
  const uint32_t us =
      std::min(kLongestSleepUs, kShortestSleepUs + (idle_rounds - kRoundsAwake) / 8);
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

void CompletionThread::Loop(std::string name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  prctl(PR_SET_TIMERSLACK, 1000UL);  // sleeps of 5 us instead of 55
  uint32_t idle_rounds = 0;
  mutex_.Lock();
  while (true) {
    while (on_the_way_ <= 0 && !closing_) {
      idle_rounds = 0;
      work_.Wait(&mutex_);
    }
    if (on_the_way_ <= 0) break;
    idle_rounds = Round() > 0 ? 0 : idle_rounds + 1;
    if (idle_rounds == 0) continue;
    mutex_.Unlock();
    Pause(idle_rounds);
    mutex_.Lock();
  }
  mutex_.Unlock();
}

}  // namespace berth::kernels::gpu
