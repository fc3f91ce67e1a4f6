// Annotated wrappers over std::mutex, so that clang's thread-safety analysis knows what each lock
// guards. Debian 12's absl::Mutex is not built for ThreadSanitizer, hence our own.
#ifndef BERTH_RUNTIME_BASE_MUTEX_H_
#define BERTH_RUNTIME_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define BERTH_TSA(x) __attribute__((x))
#else
#define BERTH_TSA(x)
#endif
#define BERTH_CAPABILITY(x) BERTH_TSA(capability(x))
#define BERTH_SCOPED_CAPABILITY BERTH_TSA(scoped_lockable)
#define BERTH_GUARDED_BY(x) BERTH_TSA(guarded_by(x))
#define BERTH_REQUIRES(...) BERTH_TSA(requires_capability(__VA_ARGS__))
#define BERTH_EXCLUDES(...) BERTH_TSA(locks_excluded(__VA_ARGS__))
#define BERTH_ACQUIRE(...) BERTH_TSA(acquire_capability(__VA_ARGS__))
#define BERTH_RELEASE(...) BERTH_TSA(release_capability(__VA_ARGS__))
#define BERTH_NO_THREAD_SAFETY_ANALYSIS BERTH_TSA(no_thread_safety_analysis)

namespace berth {

class BERTH_CAPABILITY("mutex") Mutex {
 public:
  void Lock() BERTH_ACQUIRE() { mutex_.lock(); }
  void Unlock() BERTH_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class BERTH_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) BERTH_ACQUIRE(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() BERTH_RELEASE() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

// Wait with the mutex held; loop over the condition as with every condition variable.
class CondVar {
 public:
  void Wait(Mutex* mutex) BERTH_REQUIRES(mutex) BERTH_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // False when the time ran out first.
  bool WaitFor(Mutex* mutex, std::chrono::nanoseconds timeout)
      BERTH_REQUIRES(mutex) BERTH_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const bool notified = cv_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }
  void Signal() { cv_.notify_one(); }
  void SignalAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_MUTEX_H_
