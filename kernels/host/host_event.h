// How far a stream has come, and events as places in a stream.
#ifndef BERTH_KERNELS_HOST_HOST_EVENT_H_
#define BERTH_KERNELS_HOST_HOST_EVENT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/device.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {

// Entries of a stream are numbered from 1 in the order in which they were enqueued and are done in
// that order. Thread-safe; outlives its stream for as long as an event refers to it.
class StreamProgress {
 public:
  void Advance() BERTH_EXCLUDES(mutex_) {
    {
      MutexLock lock(&mutex_);
      ++done_;
    }
    advanced_.SignalAll();
  }
  bool Reached(uint64_t entry) BERTH_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    return done_ >= entry;
  }
  void AwaitEntry(uint64_t entry) BERTH_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    while (done_ < entry) advanced_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar advanced_;
  uint64_t done_ BERTH_GUARDED_BY(mutex_) = 0;
};

// An entry of a stream. Without a stream: nothing to wait for.
struct StreamPlace {
  std::shared_ptr<StreamProgress> stream;
  uint64_t entry = 0;
};

// Remembers where it was last recorded. A Wait copies that place when it is enqueued, so a later
// Record, or the end of the event, does not change what it waits for.
class HostEvent final : public Event {
 public:
  void SetPlace(StreamPlace place) BERTH_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    // Two threads may record on one stream at once; the stream's order is the order.
    if (place.stream == place_.stream && place.entry < place_.entry) return;
    place_ = std::move(place);
  }
  StreamPlace place() BERTH_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    return place_;
  }

 private:
  Mutex mutex_;
  StreamPlace place_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_HOST_EVENT_H_
