// Tier: which unit has which slot, by decision. One for the host, one for each card.
//
// A tier's slots are slabs of one size class each. Slots are taken from *pools*: one pool per size
// class, or one per layer where each layer has its quota. A pool has a policy of its own. What the
// tier says is true "as if every earlier transfer were done"; the SlotSync of a slot knows what is
// still moving.
//
// Sweeps. A prompt touches most experts of every layer once. So that it does not wash the decode
// set out, units that a sweep brought in stand in a line of their own: they are the first victims
// of anybody, oldest first, until a decode step touches them; and a sweep may evict others only
// while its line is shorter than the sweep share of the pool.
//
// Guesses. A unit that a hint brought in is a guess until a step routes to it. Guesses are counted,
// so that the core can bound them, and no guess takes the slot of another: however slow the drive
// and wrong the hints, what is decided and not yet moved stays bounded. Until the next step of its
// layer a guess is *awaited* and stays: a unit that nobody used yet is what most policies give up
// first, so that hints two layers ahead would leave before their step. This holds for a quarter of
// a pool and for the passes of the hint and after it.
#ifndef BERTH_SCHEDULER_TIER_H_
#define BERTH_SCHEDULER_TIER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "policies/policy.h"
#include "scheduler/geometry.h"
#include "scheduler/op_graph.h"

namespace berth::scheduler {

enum class SlotSharing : uint8_t { kShared, kPerLayer };

struct TierOptions {
  std::string name;                   // "card 0", "host tier"
  std::vector<uint32_t> class_slots;  // slots per size class
  SlotSharing sharing = SlotSharing::kShared;
  std::string policy = "lru";
  double sweep_share = 0.5;
  uint64_t seed = 1;
  std::vector<double> heat;            // per unit of the model; empty: none known
  std::span<const uint64_t> next_use;  // likewise; as CoreOptions::next_use
};

// What a policy keeps whatever the size of its pool, at most.
inline constexpr uint64_t kPolicyTableBytes = 56u << 10;

enum class SlotState : uint8_t { kEmpty, kLoading, kResident, kLeaving };

struct Slot {
  UnitIndex unit = kNoUnit;   // by decision
  UnitIndex holds = kNoUnit;  // by completion: the unit whose bytes are there, whole
  SlotState state = SlotState::kEmpty;
  uint32_t generation = 0;  // of the decision
  uint32_t pins = 0;        // leases
  uint32_t size_class = 0;
  uint32_t pool = 0;
  SlotIndex local = 0;  // within its class's slab
  bool sweep = false;
  uint64_t guess_pass = 0;  // a guess: when the hint came
  uint32_t guess_step = 0;  // ... and how many steps of its layer there had been
  bool guess = false;       // a hint brought the unit, no step has routed to it yet
  bool retired = false;     // a table may still point here: never written again
  uint32_t sweep_previous = kNone, sweep_next = kNone;
  OpRef load;    // brings the bytes of `unit`: a read, or a copy
  OpRef reader;  // host: the last copy that takes them to a card
  SlotSync sync;
};

class Tier {
 public:
  static Result<std::unique_ptr<Tier>> Create(const Geometry& geometry, const TierOptions& options);

  // The slot of `unit` by decision, kNone if it has none.
  uint32_t Find(UnitIndex unit) const { return slot_of_unit_[unit]; }
  Slot& slot(uint32_t index) { return slots_[index]; }
  const Slot& slot(uint32_t index) const { return slots_[index]; }

  // A new step of `layer`: victims will be sought for its units, which `protect` keeps.
  void BeginStep(uint32_t layer, uint64_t pass, bool sweep);
  // After BeginStep, where it is a step and not a hint or a lease: guesses for its layer are not
  // awaited any more.
  void EndAwait(uint32_t layer) { ++layer_steps_[layer]; }
  void Touch(UnitIndex unit, uint32_t rows);
  // Finds a slot for `unit`, which has none: an empty one or a victim's. kNone where the policy
  // does not admit it or nothing may leave. The victim has left by decision (*victim, else
  // kNoUnit); the caller moves its bytes. Units whose stamp is `stamp`, and pinned ones, stay.
  uint32_t Take(UnitIndex unit, const std::vector<uint64_t>& stamps, uint64_t stamp,
                UnitIndex* victim);
  // The same for a hint: the unit is a guess, and no other guess leaves for it.
  uint32_t TakeGuess(UnitIndex unit, const std::vector<uint64_t>& stamps, uint64_t stamp,
                     UnitIndex* victim);
  uint32_t guesses() const { return guesses_; }
  bool Awaited(const Slot& slot) const {
    const Pool& pool = pools_[slot.pool];
    return slot.guess && slot.guess_step == layer_steps_[slot.unit / experts_] &&
           pass_ <= slot.guess_pass + 1 && 4 * pool.guesses <= pool.slots;
  }
  // What became of those that are guesses no more.
  uint64_t guesses_used() const { return guesses_used_; }
  uint64_t guesses_wasted() const { return guesses_wasted_; }
  uint64_t guess_bytes_wasted() const { return guess_bytes_wasted_; }
  // ---- before the first step
  // A warm start begins: units come in of which no step has spoken.
  void BeginWarm(uint64_t pass);
  // An empty slot for `unit`, which has none; kNone where there is none. The policy is not asked
  // whether it admits the unit: a profile spoke for it.
  uint32_t TakeEmpty(UnitIndex unit);
  // The hottest units of each pool, as many as it has slots, of those with any heat ([units]); the
  // lower index of equally hot ones.
  std::vector<UnitIndex> Hottest(std::span<const double> heat) const;
  // What the policies learned, [units]; 0 for units that have no pool.
  void Learned(std::span<double> heat) const;

  // Takes back the decision that `slot` holds its unit (a failed load, a promotion).
  void Leave(uint32_t slot);
  // Nobody gets this slot again.
  void Retire(uint32_t slot);
  void Pin(uint32_t slot) {
    if (slots_[slot].pins++ == 0) ++pinned_[slots_[slot].pool];
  }
  void Unpin(uint32_t slot) {
    if (--slots_[slot].pins == 0) --pinned_[slots_[slot].pool];
  }
  // Pinned slots in the pool of the layer, and all of them; 0 where quotas left it none.
  uint32_t pins(uint32_t layer) const {
    const uint32_t pool = pool_of_layer_[layer];
    return pool == kNone ? 0 : pinned_[pool];
  }
  uint32_t pool_slots(uint32_t layer) const {
    const uint32_t pool = pool_of_layer_[layer];
    return pool == kNone ? 0 : pools_[pool].slots;
  }

  uint32_t slot_count() const { return static_cast<uint32_t>(slots_.size()); }
  uint32_t resident_count() const { return resident_; }
  // Each slot is free, taken or retired, and the lines and counts say so too.
  Status CheckInvariants() const;
  // What policies clamped or assumed.
  std::vector<std::string> Notes() const;
  uint64_t resident_bytes() const;

 private:
  struct Pool {
    std::unique_ptr<policies::Policy> policy;
    std::vector<uint32_t> free;  // slots, the next on top
    uint32_t slots = 0;
    uint32_t guesses = 0;
    UnitIndex first_unit = 0;  // the policy's range
    uint32_t range_units = 0;
    uint32_t sweep_first = kNone, sweep_last = kNone;
    uint32_t sweep_count = 0;
    uint32_t sweep_limit = 0;
  };
  Tier() = default;
  Status AddPool(const Geometry& geometry, const TierOptions& options, uint32_t size_class,
                 uint32_t first_layer, uint32_t end_layer, uint32_t first_slot, uint32_t slots);
  uint32_t TakeFor(UnitIndex unit, const policies::Evictable& evictable, UnitIndex* victim);
  uint32_t Place(UnitIndex unit, Pool* pool);
  void EndGuess(Slot* slot, bool used);
  void LinkSweep(Pool* pool, uint32_t slot);
  void UnlinkSweep(Pool* pool, uint32_t slot);
  uint32_t SweepVictim(const Pool& pool, const policies::Evictable& evictable) const;

  std::vector<uint32_t> slot_of_unit_;
  std::vector<Slot> slots_;
  std::vector<Pool> pools_;
  std::vector<uint32_t> pinned_;         // per pool
  std::vector<uint32_t> pool_of_layer_;  // kNone: the layer's class has no slots
  uint32_t experts_ = 0;
  uint32_t resident_ = 0;
  std::vector<uint32_t> layer_payload_bytes_;
  std::vector<uint32_t> layer_steps_;  // so far; wraps
  uint64_t pass_ = 0;
  uint32_t guesses_ = 0;
  uint64_t guesses_used_ = 0;
  uint64_t guesses_wasted_ = 0;
  uint64_t guess_bytes_wasted_ = 0;
  bool sweep_step_ = false;
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_TIER_H_
