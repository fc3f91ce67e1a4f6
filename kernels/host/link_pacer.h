// LinkPacer: makes memcpy on one machine take as long as copies over a card's link would.
//
// Each direction is a line of bookings: a copy of n bytes takes the next n / rate seconds that are
// free, and is over no earlier than its booking ends. Bookings follow one another without gaps
// while copies queue, so a sleep that lasts too long is made up for by the next copy instead of
// adding up.
#ifndef BERTH_KERNELS_HOST_LINK_PACER_H_
#define BERTH_KERNELS_HOST_LINK_PACER_H_

#include <chrono>
#include <cstdint>

#include "kernels/device.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {

// Thread-safe; shared by all streams of a card.
class LinkPacer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LinkPacer(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}
  bool paced() const { return bytes_per_s_ > 0; }
  // Books a copy that could begin at `ready`; the time before which it must not be called done.
  Clock::time_point Book(CopyDirection direction, uint64_t bytes, Clock::time_point ready);

 private:
  const double bytes_per_s_;
  Mutex mutex_;
  Clock::time_point free_at_[2] BERTH_GUARDED_BY(mutex_);
};

// A stream's view of the link. Copies that were enqueued behind one another begin on paper when
// the one before them ended, whatever the clock says by then. For the stream's thread only.
class PacedStream {
 public:
  using Clock = LinkPacer::Clock;

  // Without a link (null) nothing is paced.
  explicit PacedStream(LinkPacer* link) : link_(link) {}
  bool paced() const { return link_ != nullptr && link_->paced(); }
  // The stream's thread spent time that was not the link's: what follows begins when it begins.
  void Break() { last_end_ = Clock::time_point::min(); }
  Clock::time_point Book(CopyDirection direction, uint64_t bytes, Clock::time_point enqueued);

 private:
  LinkPacer* link_;
  Clock::time_point last_end_ = Clock::time_point::min();
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_LINK_PACER_H_
