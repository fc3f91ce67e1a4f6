#include "scheduler/op_graph.h"

#include "runtime/base/check.h"
#include "runtime/base/guards.h"

namespace berth::scheduler {

OpGraph::OpGraph(uint32_t ops, uint32_t edges, Listener* listener) : listener_(listener) {
  ops_.reserve(ops);
  free_ops_.reserve(ops);
  edges_.reserve(edges);
  free_edges_.reserve(edges);
  ready_.reserve(ops);
}

uint32_t OpGraph::Add(OpKind kind) {
  uint32_t index;
  if (free_ops_.empty()) {
    index = static_cast<uint32_t>(ops_.size());
    ops_.emplace_back();
  } else {
    index = free_ops_.back();
    free_ops_.pop_back();
  }
  Op& op = ops_[index];
  const uint32_t generation = op.generation + 1;
  op = Op();
  op.generation = generation;
  op.kind = kind;
  op.live = true;
  op.pending = 1;  // the hold that Release gives up
  ++live_count_;
  return index;
}

void OpGraph::DependOn(uint32_t op, OpRef before, bool data) {
  if (!alive(before)) return;
  ops_[before.index].first_edge = NewEdge(ops_[before.index].first_edge, ref(op), data);
  ++ops_[op].pending;
}

void OpGraph::DependOnWrite(uint32_t op, SlotSync* slot) {
  DependOn(op, slot->last_write, /*data=*/true);
  PruneReaders(slot);
  slot->first_reader = NewEdge(slot->first_reader, ref(op), false);
}

void OpGraph::BecomeWriter(uint32_t op, SlotSync* slot) {
  for (uint32_t e = slot->first_reader; e != kNone; e = edges_[e].next) {
    if (BERTH_BROKEN(kReuseAfterReaders) && ops_[edges_[e].to.index].emitted) continue;
    // NewEdge may move the pool, hence the index.
    DependOn(op, edges_[e].to, /*data=*/false);
  }
  FreeEdges(slot->first_reader);
  slot->first_reader = kNone;
  DependOn(op, slot->last_write, /*data=*/false);
  slot->last_write = ref(op);
}

void OpGraph::Release(uint32_t op) {
  Met(op);
  Drain();
}

void OpGraph::Finish(uint32_t op, const Status& status) {
  BERTH_CHECK(ops_[op].live && ops_[op].pending == 0 && !ops_[op].queued);
  ops_[op].live = false;
  --live_count_;
  const uint32_t first = ops_[op].first_edge;
  ops_[op].first_edge = kNone;
  ops_[op].status = Status();
  free_ops_.push_back(op);
  for (uint32_t e = first; e != kNone; e = edges_[e].next) {
    const OpRef to = edges_[e].to;
    BERTH_CHECK(alive(to));
    if (edges_[e].data && !status.ok() && ops_[to.index].status.ok()) {
      ops_[to.index].status = status;
    }
    Met(to.index);
  }
  FreeEdges(first);
  Drain();
}

uint32_t OpGraph::Find(OpId id) const {
  const OpRef ref{static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32)};
  return ref.index < ops_.size() && alive(ref) ? ref.index : kNone;
}

uint64_t OpGraph::resident_bytes() const {
  return ops_.capacity() * sizeof(Op) + edges_.capacity() * sizeof(Edge) +
         (free_ops_.capacity() + free_edges_.capacity() + ready_.capacity()) * sizeof(uint32_t);
}

uint32_t OpGraph::NewEdge(uint32_t next, OpRef to, bool data) {
  uint32_t index;
  if (free_edges_.empty()) {
    index = static_cast<uint32_t>(edges_.size());
    edges_.emplace_back();
  } else {
    index = free_edges_.back();
    free_edges_.pop_back();
  }
  edges_[index] = Edge{next, to, data};
  return index;
}

void OpGraph::FreeEdges(uint32_t first) {
  while (first != kNone) {
    const uint32_t next = edges_[first].next;
    free_edges_.push_back(first);
    first = next;
  }
}

// Drops readers that are done, so that a slot that is read for hours without a write keeps a list
// of its live readers only.
void OpGraph::PruneReaders(SlotSync* slot) {
  uint32_t* link = &slot->first_reader;
  while (*link != kNone) {
    const uint32_t edge = *link;
    if (alive(edges_[edge].to)) {
      link = &edges_[edge].next;
    } else {
      *link = edges_[edge].next;
      free_edges_.push_back(edge);
    }
  }
}

void OpGraph::Met(uint32_t op) {
  BERTH_CHECK(ops_[op].pending > 0);
  if (--ops_[op].pending == 0) ready_.push_back(op);
}

void OpGraph::Drain() {
  if (draining_) return;
  draining_ = true;
  // First in, first out: operations become known to the sink in the order they became possible.
  for (size_t i = 0; i < ready_.size(); ++i) listener_->OpReady(ready_[i]);
  ready_.clear();
  draining_ = false;
}

}  // namespace berth::scheduler
