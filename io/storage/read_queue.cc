#include "io/storage/read_queue.h"

#include "runtime/base/check.h"

namespace berth::io {

ReadQueue::ReadQueue(uint32_t max_outstanding, ReadSink* sink)
    : sink_(sink), ring_(max_outstanding) {}

bool ReadQueue::Push(std::span<const ReadRequest> reads) {
  if (reads.empty()) return false;
  MutexLock lock(&mutex_);
  if (finished_) return false;
  BERTH_CHECK_MSG(reads.size() <= ring_.size() - outstanding_,
                  "more reads outstanding than StorageOptions::max_outstanding promised");
  for (const ReadRequest& read : reads) {
    ring_[tail_ % ring_.size()] = read;
    ++tail_;
  }
  outstanding_ += static_cast<uint32_t>(reads.size());
  if (waiters_ > 0) {
    if (reads.size() == 1) {
      changed_.Signal();
    } else {
      changed_.SignalAll();
    }
  }
  const bool wake = asleep_;
  asleep_ = false;
  return wake;
}

bool ReadQueue::TakeLocked(ReadRequest* read) {
  if (head_ == tail_) return false;
  *read = ring_[head_ % ring_.size()];
  ++head_;
  return true;
}

bool ReadQueue::Take(ReadRequest* read) {
  MutexLock lock(&mutex_);
  return TakeLocked(read);
}

bool ReadQueue::PrepareToSleep() {
  MutexLock lock(&mutex_);
  asleep_ = head_ == tail_ && !closing_;
  return asleep_;
}

bool ReadQueue::WaitTake(ReadRequest* read) {
  MutexLock lock(&mutex_);
  while (!TakeLocked(read)) {
    if (closing_) return false;
    ++waiters_;
    changed_.Wait(&mutex_);
    --waiters_;
  }
  return true;
}

void ReadQueue::SleepForWork(std::chrono::nanoseconds delay) {
  MutexLock lock(&mutex_);
  if (head_ != tail_) return;
  ++waiters_;
  changed_.WaitFor(&mutex_, delay);
  --waiters_;
}

void ReadQueue::SleepUnlessClosing(std::chrono::nanoseconds delay) {
  const auto until = std::chrono::steady_clock::now() + delay;
  MutexLock lock(&mutex_);
  while (!closing_) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds::zero()) return;
    // Not counted as a waiter: a signal that is meant for a taker must not end here.
    closed_.WaitFor(&mutex_, left);
  }
}

void ReadQueue::Complete(const ReadResult& result) {
  {
    MutexLock lock(&mutex_);
    BERTH_CHECK_MSG(outstanding_ > 0, "a read was completed twice");
    --outstanding_;
    ++stats_.reads;
    stats_.bytes += result.bytes;
    stats_.retries += result.retries;
    stats_.retried_bytes += result.retried_bytes;
    if (!result.status.ok()) ++stats_.failed;
  }
  sink_->ReadCompleted(result);
}

void ReadQueue::Close() {
  MutexLock lock(&mutex_);
  closing_ = true;
  asleep_ = false;
  changed_.SignalAll();
  closed_.SignalAll();
}

bool ReadQueue::closing() const {
  MutexLock lock(&mutex_);
  return closing_;
}

bool ReadQueue::Finish() {
  MutexLock lock(&mutex_);
  finished_ = head_ == tail_;
  return finished_;
}

StorageStats ReadQueue::stats() const {
  MutexLock lock(&mutex_);
  return stats_;
}

Status ClosedError() { return CancelledError("the storage was closed before the read began"); }

}  // namespace berth::io
