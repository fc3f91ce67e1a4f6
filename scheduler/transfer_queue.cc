#include "scheduler/transfer_queue.h"

#include "runtime/base/check.h"

namespace berth::scheduler {

void TransferQueue::Push(OpGraph* graph, uint32_t index) {
  Op& op = graph->op(index);
  BERTH_CHECK(!op.queued);
  Lane& lane = lanes_[op.prefetch ? 1 : 0];
  op.queued = true;
  op.previous = lane.last;
  op.next = kNone;
  if (lane.last == kNone) {
    lane.first = index;
  } else {
    graph->op(lane.last).next = index;
  }
  lane.last = index;
}

void TransferQueue::Remove(OpGraph* graph, uint32_t index) {
  Op& op = graph->op(index);
  BERTH_CHECK(op.queued);
  Lane& lane = lanes_[op.prefetch ? 1 : 0];
  (op.previous == kNone ? lane.first : graph->op(op.previous).next) = op.next;
  (op.next == kNone ? lane.last : graph->op(op.next).previous) = op.previous;
  op.queued = false;
}

void TransferQueue::Promote(OpGraph* graph, uint32_t index) {
  Remove(graph, index);
  graph->op(index).prefetch = false;
  Push(graph, index);
}

}  // namespace berth::scheduler
