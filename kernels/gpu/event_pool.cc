#include "kernels/gpu/event_pool.h"

#include <utility>

#include "kernels/gpu/gpu_status.h"
#include "runtime/base/check.h"

namespace berth::kernels::gpu {

EventPool::~EventPool() {
  MutexLock lock(&mutex_);
  BERTH_CHECK_MSG(free_.size() == all_.size(), "an event outlives its device");
  const ScopedCard card(ordinal_);
  for (const std::unique_ptr<EventPoint>& point : all_) {
    if (gpuEventDestroy(point->event) != gpuSuccess) (void)gpuGetLastError();
  }
}

Result<EventPoint*> EventPool::Take() {
  MutexLock lock(&mutex_);
  if (free_.empty()) {
    const ScopedCard card(ordinal_);
    auto point = std::make_unique<EventPoint>();
    BERTH_RETURN_IF_ERROR(GpuStatus(gpuEventCreateWithFlags(&point->event, gpuEventDisableTiming),
                                    "card " + card_, "EventCreateWithFlags"));
    point->pool = this;
    free_.push_back(point.get());
    all_.push_back(std::move(point));
    free_.reserve(all_.capacity());  // Release does not allocate
  }
  EventPoint* point = free_.back();
  free_.pop_back();
  point->users = 1;
  point->issued = point->lost = false;
  return point;
}

void EventPool::Keep(EventPoint* point) {
  MutexLock lock(&mutex_);
  ++point->users;
}

void EventPool::Release(EventPoint* point) {
  MutexLock lock(&mutex_);
  if (--point->users == 0) free_.push_back(point);
}

void EventPool::MarkIssued(EventPoint* point, bool lost) {
  {
    MutexLock lock(&mutex_);
    point->issued = true;
    point->lost = lost;
  }
  issued_.SignalAll();
}

bool EventPool::AwaitIssued(EventPoint* point) {
  MutexLock lock(&mutex_);
  while (!point->issued) issued_.Wait(&mutex_);
  return !point->lost;
}

GpuEvent::~GpuEvent() {
  MutexLock lock(&mutex_);
  if (place_.point != nullptr) place_.point->pool->Release(place_.point);
}

void GpuEvent::SetPlace(const Place& place) {
  MutexLock lock(&mutex_);
  Place gone = place;
  // Two threads may record on one stream at once; the stream's order is the order.
  if (place.stream != place_.stream || place.entry >= place_.entry) {
    gone = std::exchange(place_, place);
  }
  if (gone.point != nullptr) gone.point->pool->Release(gone.point);
}

GpuEvent::Place GpuEvent::TakePlace() {
  MutexLock lock(&mutex_);
  if (place_.point != nullptr) place_.point->pool->Keep(place_.point);
  return place_;
}

}  // namespace berth::kernels::gpu
