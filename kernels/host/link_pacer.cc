#include "kernels/host/link_pacer.h"

#include <algorithm>

namespace berth::kernels {

LinkPacer::Clock::time_point LinkPacer::Book(CopyDirection direction, uint64_t bytes,
                                             Clock::time_point ready) {
  const std::chrono::duration<double> takes(static_cast<double>(bytes) / bytes_per_s_);
  MutexLock lock(&mutex_);
  Clock::time_point& free_at = free_at_[static_cast<size_t>(direction)];
  free_at = std::max(free_at, ready) + std::chrono::duration_cast<Clock::duration>(takes);
  return free_at;
}

PacedStream::Clock::time_point PacedStream::Book(CopyDirection direction, uint64_t bytes,
                                                 Clock::time_point enqueued) {
  const bool followed_on = enqueued <= last_end_;
  last_end_ = link_->Book(direction, bytes, followed_on ? last_end_ : Clock::now());
  return last_end_;
}

}  // namespace berth::kernels
