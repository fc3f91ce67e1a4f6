// What the core asks for: actions through a Sink, which drivers and tests implement.
//
// A sink is called from inside the core's inputs and must not call back into the core; it queues
// the work and reports completions later. Every Read, Copy, Publish and Compute action is answered
// exactly once. Spans are valid until the answer.
#ifndef BERTH_SCHEDULER_ACTIONS_H_
#define BERTH_SCHEDULER_ACTIONS_H_

#include <cstdint>
#include <span>

#include "berth/status.h"
#include "berth/types.h"

namespace berth::scheduler {

// Names an operation until it is answered; never reused while anybody can still answer.
using OpId = uint64_t;
using TicketId = uint64_t;
using LeaseId = uint64_t;

// A place in card memory.
struct CardSlot {
  uint32_t card = 0;
  bool ring = false;         // a slot of the ring, else of the arena
  uint32_t size_class = 0;   // of the arena's slab; for the ring, the unit's class
  SlotIndex slot = kNoSlot;  // within the class's slab, or within the ring
};

// A place in host memory.
struct HostSlot {
  bool staging = false;  // a staging slot (fits every unit), else of the host tier
  uint32_t size_class = 0;
  SlotIndex slot = kNoSlot;  // within the class's slab, or within staging
};

struct ReadAction {
  OpId op = 0;
  UnitIndex unit = kNoUnit;
  uint32_t extent = 0;  // answered once per extent
  HostSlot to;
  bool prefetch = false;
};

struct CopyAction {
  OpId op = 0;
  UnitIndex unit = kNoUnit;
  HostSlot host;
  CardSlot card;
  bool to_card = true;  // false: back into the host slot
  bool prefetch = false;
};

// Point the card's table entry of `unit` at `slot`, or (publish = false) at nothing.
struct PublishAction {
  OpId op = 0;
  UnitIndex unit = kNoUnit;
  CardSlot slot;
  bool publish = true;
};

struct WaveUnit {
  UnitIndex unit = kNoUnit;
  CardSlot slot;            // of a wave that its card computes
  uint32_t first_pair = 0;  // into ComputeAction::pairs
  uint32_t pair_count = 0;
  HostSlot host;  // of a wave that the host computes: where the unit's bytes lie
};

struct ComputeAction {
  OpId op = 0;
  TicketId ticket = 0;
  uint64_t cookie = 0;  // the submitter's, from StepSpec
  uint32_t layer = 0;
  uint32_t card = 0;     // that its units are placed on
  bool on_host = false;  // computed by the host, from host slots; `card` takes no part
  uint32_t wave = 0;
  std::span<const WaveUnit> units;
  std::span<const uint32_t> pairs;  // row * top_k + k, for the whole step
};

class Sink {
 public:
  virtual void Read(const ReadAction& action) = 0;
  virtual void Copy(const CopyAction& action) = 0;
  virtual void Publish(const PublishAction& action) = 0;
  virtual void Compute(const ComputeAction& action) = 0;
  // All waves of the step are consumed (or failed: the first error). Not answered.
  virtual void TicketDone(TicketId ticket, uint64_t cookie, const Status& status) = 0;
  // All units of the lease are published, or the lease is void. Not answered.
  virtual void LeaseReady(LeaseId lease, uint64_t cookie, const Status& status) = 0;

 protected:
  ~Sink() = default;
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_ACTIONS_H_
