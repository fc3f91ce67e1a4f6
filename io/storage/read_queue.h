// ReadQueue: the part of every storage between its callers and its threads. It holds the reads
// that have not begun, counts the outstanding ones, hands results to the sink and knows whether
// the storage is closing.
//
//   callers --Push--> [bounded queue] --Take / WaitTake--> threads of the storage --Complete-->
//   sink
//
// Everything is allocated by the constructor. All functions may be called from any thread.
#ifndef BERTH_IO_STORAGE_READ_QUEUE_H_
#define BERTH_IO_STORAGE_READ_QUEUE_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "io/storage.h"
#include "runtime/base/mutex.h"

namespace berth::io {

class ReadQueue {
 public:
  // `sink` must outlive the queue.
  ReadQueue(uint32_t max_outstanding, ReadSink* sink);

  // Queues the reads, in order. True when the one thread that polls has gone to sleep
  // (PrepareToSleep) and has to be woken. Reads that come after Finish() are not taken.
  bool Push(std::span<const ReadRequest> reads);

  // For one thread that polls. Take is false when nothing waits.
  bool Take(ReadRequest* read);
  // True when nothing waits and the storage is not closing: the caller may sleep, and the next
  // Push will say that it must be woken.
  bool PrepareToSleep();

  // For threads that block: false once the queue is closing and empty.
  bool WaitTake(ReadRequest* read);
  // Returns after `delay`, or sooner when a read waits to be taken.
  void SleepForWork(std::chrono::nanoseconds delay);
  // Returns after `delay`, or sooner when the queue is closing.
  void SleepUnlessClosing(std::chrono::nanoseconds delay);

  // Counts the result, ends the read's time as outstanding, then calls the sink without a lock.
  void Complete(const ReadResult& result);

  void Close();
  bool closing() const;
  // True when nothing waits; from then on nothing more is taken.
  bool Finish();

  StorageStats stats() const;

 private:
  bool TakeLocked(ReadRequest* read) BERTH_REQUIRES(mutex_);

  ReadSink* const sink_;
  mutable Mutex mutex_;
  CondVar changed_;  // a read came, or closing
  CondVar closed_;   // closing
  std::vector<ReadRequest> ring_ BERTH_GUARDED_BY(mutex_);
  uint64_t head_ BERTH_GUARDED_BY(mutex_) = 0;  // taken so far
  uint64_t tail_ BERTH_GUARDED_BY(mutex_) = 0;  // pushed so far
  uint32_t outstanding_ BERTH_GUARDED_BY(mutex_) = 0;
  uint32_t waiters_ BERTH_GUARDED_BY(mutex_) = 0;
  bool asleep_ BERTH_GUARDED_BY(mutex_) = false;
  bool closing_ BERTH_GUARDED_BY(mutex_) = false;
  bool finished_ BERTH_GUARDED_BY(mutex_) = false;
  StorageStats stats_ BERTH_GUARDED_BY(mutex_);
};

// The status of a read that Close() overtook.
Status ClosedError();

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_READ_QUEUE_H_
