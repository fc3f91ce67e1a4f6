// CardArena: the slots of one card, in its memory.
//
//   PlanArena -> Create: allocate slabs, write every slot once -> slot() until destroyed
//
// Who is in which slot is the scheduler's business; this knows addresses only.
#ifndef BERTH_ARENA_CARD_ARENA_H_
#define BERTH_ARENA_CARD_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "arena/arena_plan.h"
#include "berth/status.h"
#include "berth/types.h"
#include "kernels/device.h"

namespace berth::arena {

// Equal slots in card memory, in chunks that no slot straddles.
class CardSlab {
 public:
  static Result<CardSlab> Create(kernels::Device* device, uint64_t slot_bytes, uint32_t slots,
                                 std::string_view purpose);
  std::byte* slot(SlotIndex index) const {
    return chunks_[index / slots_per_chunk_]->data() + index % slots_per_chunk_ * slot_bytes_;
  }
  uint32_t slots() const { return slots_; }
  uint64_t slot_bytes() const { return slot_bytes_; }

 private:
  std::vector<std::unique_ptr<kernels::DeviceMemory>> chunks_;
  uint64_t slot_bytes_ = 0;
  uint32_t slots_ = 0;
  uint32_t slots_per_chunk_ = 1;
};

// Immutable after Create; read from any thread. Must not outlive its device.
class CardArena {
 public:
  // Writes 0xFF (a NaN in every float type) into every slot: all memory is really there before the
  // first step, and a slot that is read before it is filled shows. ResourceExhausted where the
  // card has less memory than the plan.
  static Result<std::unique_ptr<CardArena>> Create(kernels::Device* device, const ArenaPlan& plan);

  const ArenaPlan& plan() const { return plan_; }
  // 256-aligned. `index` counts within the class.
  std::byte* slot(uint32_t size_class, SlotIndex index) const {
    return slabs_[size_class].slot(index);
  }
  // `index` counts through all classes, as SlotClassPlan::first_slot does.
  std::byte* slot(SlotIndex index) const;
  std::byte* ring_slot(uint32_t index) const { return ring_.slot(index); }

 private:
  explicit CardArena(const ArenaPlan& plan) : plan_(plan) {}

  ArenaPlan plan_;
  std::vector<CardSlab> slabs_;  // by size class
  CardSlab ring_;
};

}  // namespace berth::arena

#endif  // BERTH_ARENA_CARD_ARENA_H_
