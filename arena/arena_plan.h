// How the bytes of a tier become slots: pure arithmetic, shared by the arena that allocates, by the
// simulator and by messages that say which number to raise.
//
// A size class is the units of equal size; it gets a slab of equal slots. The bytes go to the
// classes in proportion to units x unit bytes (every class then holds the same fraction of its
// units) or to shares that are given. No class gets more slots than it has units: what it cannot
// use goes to the others. On a card no class gets fewer than its hard minimum, 3 x top-k slots (or
// all its units where it has fewer): below that the slots of a step's waves run out.
#ifndef BERTH_ARENA_ARENA_PLAN_H_
#define BERTH_ARENA_ARENA_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"

namespace berth::arena {

// What one tier may hold of one size class.
struct ArenaClass {
  uint64_t unit_bytes = 0;  // on this tier: a catalog's card_bytes or host_bytes
  uint32_t units = 0;       // layers x experts; on one of several cards, those placed on it
  double share = 0;         // relative to the other classes; 0 in all of them: in proportion
};

struct SlotClassPlan {
  uint64_t slot_bytes = 0;  // from one slot to the next
  uint32_t slots = 0;
  uint32_t units = 0;
  uint32_t minimum_slots = 0;
  SlotIndex first_slot = 0;  // slots of a tier are numbered class after class

  uint64_t bytes() const { return slot_bytes * slots; }
};

// Slots of all classes of a tier.
struct SlotPlan {
  std::vector<SlotClassPlan> classes;
  uint32_t slots = 0;
  uint64_t used_bytes = 0;       // of slots
  uint64_t left_over_bytes = 0;  // of what was asked, too few for one more slot or of no use
  uint64_t minimum_bytes = 0;    // the fewest that would do
  uint64_t full_bytes = 0;       // as many as make every unit resident
};

// A card's arena and its ring. The ring is extra: arena bytes are slots only.
struct ArenaPlan {
  SlotPlan arena;
  uint64_t ring_slot_bytes = 0;  // fits the largest unit
  uint32_t ring_slots = 0;

  uint64_t ring_bytes() const { return ring_slot_bytes * ring_slots; }
  uint64_t bytes() const { return arena.used_bytes + ring_bytes(); }
};

struct ArenaRequest {
  std::string card;  // "host:0", for messages
  std::vector<ArenaClass> classes;
  uint64_t arena_bytes = 0;  // --arena
  uint32_t ring_units = 0;   // --ring
  uint32_t top_k = 0;
  // arena_bytes is what the card's memory leaves beside the ring: nobody asked for that number, so
  // a refusal says what would leave more.
  bool automatic = false;
  uint64_t memory_bytes = 0;  // of the card, for arena and ring; for the advice where `automatic`
};

// InvalidArgument below the hard minimum, naming --arena and the number to raise it to (--memory
// where the arena's size was chosen automatically); for a card without units; or for sizes that
// are 0, overflow, or shares given for some classes only.
Result<ArenaPlan> PlanArena(const ArenaRequest& request);

// The host tier: the same split without a minimum. A class may end with no slot, and so may all.
Result<SlotPlan> PlanSlots(std::span<const ArenaClass> classes, uint64_t bytes);
// For people, where a host tier of `bytes` was asked for and `plan` has no slot at all: it does
// nothing, and from how many bytes on it would. Empty otherwise.
std::string HostTierNote(const SlotPlan& plan, uint64_t bytes);

// Slabs are allocated in chunks of at most 1 GiB (drivers and io_uring take no larger region
// whole); a slot lies in one chunk. At least 1.
uint32_t SlotsPerChunk(uint64_t slot_bytes);

}  // namespace berth::arena

#endif  // BERTH_ARENA_ARENA_PLAN_H_
