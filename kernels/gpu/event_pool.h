// Events of a card: the driver's, taken from a pool, and berth's, which remember where they were
// recorded last.
#ifndef BERTH_KERNELS_GPU_EVENT_POOL_H_
#define BERTH_KERNELS_GPU_EVENT_POOL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/gpu/vendor.h"
#include "runtime/base/mutex.h"

namespace berth::kernels::gpu {

class EventPool;

// One point in one stream. It goes back to its pool when the last who may ask for it has let go:
// the record that is enqueued, events that remember it, waits that are enqueued.
struct EventPoint {
  EventPool* pool = nullptr;
  gpuEvent_t event = nullptr;
  // Guarded by the pool's lock.
  uint32_t users = 0;
  bool issued = false;  // the driver has been told; a wait cannot be issued before
  bool lost = false;    // it has not and will not: nothing to wait for
};

// Thread-safe. Makes events as they are needed and keeps them: a warm step makes none. All points
// are back before it is destroyed.
class EventPool {
 public:
  EventPool(std::string card, int ordinal) : card_(std::move(card)), ordinal_(ordinal) {}
  ~EventPool();

  // With one user, not issued.
  Result<EventPoint*> Take() BERTH_EXCLUDES(mutex_);
  void Keep(EventPoint* point) BERTH_EXCLUDES(mutex_);
  void Release(EventPoint* point) BERTH_EXCLUDES(mutex_);

  void MarkIssued(EventPoint* point, bool lost) BERTH_EXCLUDES(mutex_);
  // Blocks until it is issued; false where there is nothing to wait for.
  bool AwaitIssued(EventPoint* point) BERTH_EXCLUDES(mutex_);

 private:
  const std::string card_;
  const int ordinal_;
  Mutex mutex_;
  CondVar issued_;
  std::vector<std::unique_ptr<EventPoint>> all_ BERTH_GUARDED_BY(mutex_);
  std::vector<EventPoint*> free_ BERTH_GUARDED_BY(mutex_);
};

// Remembers where it was last recorded. A wait takes over that point when it is enqueued, so a
// later record, or the end of the event, does not change what it waits for.
class GpuEvent final : public Event {
 public:
  struct Place {
    EventPoint* point = nullptr;  // kept; null: never recorded
    const void* stream = nullptr;
    uint64_t entry = 0;  // of that stream
  };
  ~GpuEvent() override;
  // Takes over the caller's use of the point.
  void SetPlace(const Place& place) BERTH_EXCLUDES(mutex_);
  // With a use for the caller.
  Place TakePlace() BERTH_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  Place place_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_EVENT_POOL_H_
