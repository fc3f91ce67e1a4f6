// TransferQueue: transfers that could start, in two lanes, and how many bytes may be under way.
//
// Demand goes before prefetch; within a lane, first come, first served. Prefetch starts only while
// no demand is under way and has a bound of its own, so that a demand transfer finds at most that
// much before it on the wire, and nothing beside it. One queue per drive and one per card.
#ifndef BERTH_SCHEDULER_TRANSFER_QUEUE_H_
#define BERTH_SCHEDULER_TRANSFER_QUEUE_H_

#include <cstdint>

#include "scheduler/op_graph.h"

namespace berth::scheduler {

class TransferQueue {
 public:
  // `pieces`: most transfers under way at once, whatever their size.
  TransferQueue(uint64_t bytes_in_flight, uint64_t prefetch_bytes_in_flight, uint32_t pieces)
      : limit_(bytes_in_flight), prefetch_limit_(prefetch_bytes_in_flight), pieces_(pieces) {}

  void Push(OpGraph* graph, uint32_t op);
  // Moves a waiting prefetch to the end of the demand lane.
  void Promote(OpGraph* graph, uint32_t op);
  void Remove(OpGraph* graph, uint32_t op);
  // The operation whose next piece may start now; kNone if none. `bytes` is the size of the piece
  // that would start, as a function of the operation.
  template <typename BytesOf>
  uint32_t Next(const BytesOf& bytes_of) const {
    const Lane& lane = lanes_[0].first != kNone ? lanes_[0] : lanes_[1];
    if (lane.first == kNone || pieces_in_flight_ == pieces_) return kNone;
    const bool prefetch = &lane == &lanes_[1];
    const uint64_t bytes = bytes_of(lane.first);
    // A piece larger than a bound goes alone.
    if (in_flight_ > 0 && in_flight_ + bytes > limit_) return kNone;
    if (prefetch && in_flight_ > 0 &&
        (in_flight_ > prefetch_in_flight_ || prefetch_in_flight_ + bytes > prefetch_limit_)) {
      return kNone;
    }
    return lane.first;
  }
  void Started(uint64_t bytes, bool prefetch) {
    ++pieces_in_flight_;
    in_flight_ += bytes;
    if (prefetch) prefetch_in_flight_ += bytes;
  }
  void Ended(uint64_t bytes, bool prefetch) {
    --pieces_in_flight_;
    in_flight_ -= bytes;
    if (prefetch) prefetch_in_flight_ -= bytes;
  }
  // Any waiting operation, for draining at close.
  uint32_t first() const { return lanes_[0].first != kNone ? lanes_[0].first : lanes_[1].first; }
  uint64_t in_flight() const { return in_flight_; }

 private:
  struct Lane {
    uint32_t first = kNone, last = kNone;
  };
  Lane lanes_[2];  // demand, prefetch
  uint64_t limit_;
  uint64_t prefetch_limit_;
  uint32_t pieces_;
  uint32_t pieces_in_flight_ = 0;
  uint64_t in_flight_ = 0;
  uint64_t prefetch_in_flight_ = 0;
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_TRANSFER_QUEUE_H_
