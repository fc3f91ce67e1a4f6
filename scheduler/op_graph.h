// OpGraph: decided actions and what each must wait for.
//
// Decisions are taken in submission order; the bytes follow when they can. Each slot remembers the
// operation that last wrote it and those that read it since (SlotSync). A new operation on the slot
// waits for them, so a slot is never overwritten under a reader and never read before its bytes
// are there, whatever order completions come in:
//
//     write A -> read, read, read -> write B -> read ...
//
// Edges point from earlier submissions to later ones only: there is no cycle, so there is always
// an operation that can go on. A *data* edge carries failure onwards, a *hazard* edge does not.
//
// Nodes and edges come from pools that are sized when the graph is made; they grow only if a
// caller exceeds what it promised.
#ifndef BERTH_SCHEDULER_OP_GRAPH_H_
#define BERTH_SCHEDULER_OP_GRAPH_H_

#include <cstdint>
#include <vector>

#include "berth/status.h"
#include "scheduler/actions.h"

namespace berth::scheduler {

enum class OpKind : uint8_t {
  kRead,
  kCopyUp,
  kCopyBack,
  kPublish,
  kUnpublish,
  kWave,
  kHostWave,
  kLease
};

inline constexpr uint32_t kNone = UINT32_MAX;

// A node that may have been finished and reused since: index and generation.
struct OpRef {
  uint32_t index = kNone;
  uint32_t generation = 0;
};

struct Op {
  OpKind kind = OpKind::kRead;
  bool live = false;
  bool prefetch = false;      // may wait behind demand
  bool queued = false;        // in a transfer queue
  bool emitted = false;       // the sink has it, an answer is owed
  uint8_t prefetch_mask = 0;  // pieces (extents) that were started as prefetch
  uint8_t answered_mask = 0;  // pieces whose answer came
  uint32_t generation = 0;
  uint32_t pending = 0;         // unmet dependencies
  uint32_t first_edge = kNone;  // to those that wait for this
  UnitIndex unit = kNoUnit;
  HostSlot host;
  CardSlot card;
  uint32_t extents_emitted = 0;
  OpRef source;  // the transfer that this one waits for, of those that a hint may have begun
  uint32_t extents_left = 0;
  uint32_t slot_generation = 0;  // of the written slot's decision
  uint32_t owner = 0;            // ticket or lease index
  uint32_t wave = 0;
  uint32_t first_unit = 0;  // wave: into the owner's units
  uint32_t unit_count = 0;
  // Transfer queue links.
  uint32_t previous = kNone, next = kNone;
  Status status;
};

struct SlotSync {
  OpRef last_write;
  uint32_t first_reader = kNone;  // list in the edge pool
};

class OpGraph {
 public:
  // Called for an operation whose dependencies are all met.
  class Listener {
   public:
    virtual void OpReady(uint32_t op) = 0;

   protected:
    ~Listener() = default;
  };

  OpGraph(uint32_t ops, uint32_t edges, Listener* listener);

  // A new operation, held back until Release, so that its dependencies can be added.
  uint32_t Add(OpKind kind);
  void DependOnWrite(uint32_t op, SlotSync* slot);  // reads the slot: data edge to its writer
  void BecomeWriter(uint32_t op, SlotSync* slot);   // waits for readers and writer; is the writer
  void DependOn(uint32_t op, OpRef before, bool data);
  void Release(uint32_t op);
  // Ends a live operation; what waited only for it becomes ready. With an error, operations that
  // depend on its data inherit it (they still wait for the rest, then become ready with a status).
  void Finish(uint32_t op, const Status& status);

  Op& op(uint32_t index) { return ops_[index]; }
  OpRef ref(uint32_t index) const { return {index, ops_[index].generation}; }
  bool alive(OpRef ref) const {
    return ref.index != kNone && ops_[ref.index].live &&
           ops_[ref.index].generation == ref.generation;
  }
  OpId id(uint32_t index) const {
    return (static_cast<uint64_t>(ops_[index].generation) << 32) | index;
  }
  // The index of a live operation, kNone for any other id.
  uint32_t Find(OpId id) const;
  uint32_t live_count() const { return live_count_; }
  uint64_t resident_bytes() const;
  static uint64_t PlannedBytes(uint32_t ops, uint32_t edges) {
    return ops * (sizeof(Op) + 2 * sizeof(uint32_t)) + edges * (sizeof(Edge) + sizeof(uint32_t));
  }

 private:
  struct Edge {
    uint32_t next = kNone;
    OpRef to;
    bool data = false;
  };
  uint32_t NewEdge(uint32_t next, OpRef to, bool data);
  void FreeEdges(uint32_t first);
  void PruneReaders(SlotSync* slot);
  void Met(uint32_t op);
  void Drain();

  Listener* listener_;
  std::vector<Op> ops_;
  std::vector<uint32_t> free_ops_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> free_edges_;
  std::vector<uint32_t> ready_;  // a work list instead of recursion
  bool draining_ = false;
  uint32_t live_count_ = 0;
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_OP_GRAPH_H_
