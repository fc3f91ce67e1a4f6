#include "arena/card_arena.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "arena/host_region.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::arena {
namespace {

using kernels::CopyDirection;
using kernels::CopySegment;
using kernels::Device;
using kernels::DeviceMemory;
using kernels::Stream;

constexpr uint32_t kFillsAtOnce = 64;

// Writes every slot of the slab with `fill`, which is at least a slot long.
Status Fill(Stream* stream, const CardSlab& slab, const std::byte* fill) {
  for (SlotIndex i = 0; i < slab.slots(); ++i) {
    if (i % kFillsAtOnce == 0) BERTH_RETURN_IF_ERROR(stream->Synchronize());
    const CopySegment segment{fill, slab.slot(i), slab.slot_bytes()};
    BERTH_RETURN_IF_ERROR(stream->Copy(CopyDirection::kToCard, {&segment, 1}));
  }
  return stream->Synchronize();
}

}  // namespace

Result<CardSlab> CardSlab::Create(Device* device, uint64_t slot_bytes, uint32_t slots,
                                  std::string_view purpose) {
  CardSlab slab;
  slab.slot_bytes_ = slot_bytes;
  slab.slots_ = slots;
  slab.slots_per_chunk_ = SlotsPerChunk(slot_bytes);
  for (uint32_t first = 0; first < slots; first += slab.slots_per_chunk_) {
    const uint32_t count = std::min(slab.slots_per_chunk_, slots - first);
    BERTH_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> chunk,
                           device->Allocate(slot_bytes * count, purpose));
    slab.chunks_.push_back(std::move(chunk));
    if (count == slots - first) break;  // `first` could wrap otherwise
  }
  return slab;
}

Result<std::unique_ptr<CardArena>> CardArena::Create(Device* device, const ArenaPlan& plan) {
  const std::string card = "card " + device->info().name;
  // One reading for the whole plan, before anything is taken.
  if (const uint64_t free = device->free_bytes(); plan.bytes() > free) {
    return ResourceExhaustedError(
        card + ": the arena asks " + FormatBytes(plan.arena.used_bytes) + " and the ring " +
        FormatBytes(plan.ring_bytes()) + ", free " + FormatBytes(free) +
        ": lower --arena or --ring, by " + std::to_string(plan.bytes() - free) +
        " bytes together, or raise --memory to at least " + std::to_string(plan.bytes()) + " (" +
        FormatBytes(plan.bytes()) + ")");
  }
  std::unique_ptr<CardArena> arena(new CardArena(plan));
  for (const SlotClassPlan& c : plan.arena.classes) {
    BERTH_ASSIGN_OR_RETURN(CardSlab slab,
                           CardSlab::Create(device, c.slot_bytes, c.slots,
                                            "arena slots of " + FormatBytes(c.slot_bytes)));
    arena->slabs_.push_back(std::move(slab));
  }
  BERTH_ASSIGN_OR_RETURN(arena->ring_,
                         CardSlab::Create(device, plan.ring_slot_bytes, plan.ring_slots, "ring"));

  uint64_t longest = plan.ring_slot_bytes;
  for (const SlotClassPlan& c : plan.arena.classes) longest = std::max(longest, c.slot_bytes);
  HostRegionOptions region;
  region.bytes = longest;
  region.lock = false;
  region.purpose = "filling the slots of " + card;
  BERTH_ASSIGN_OR_RETURN(const HostRegion fill, HostRegion::Create(region));
  std::memset(fill.data(), 0xFF, longest);
  BERTH_RETURN_IF_ERROR(device->RegisterHost(fill.data(), fill.bytes()));
  Status filled;
  {
    Result<std::unique_ptr<Stream>> stream =
        device->CreateStream({.name = "fill", .capacity = kFillsAtOnce, .unpaced = true});
    filled = stream.status();
    for (const CardSlab& slab : arena->slabs_) {
      if (filled.ok()) filled = Fill(stream->get(), slab, fill.data());
    }
    if (filled.ok()) filled = Fill(stream->get(), arena->ring_, fill.data());
  }
  const Status unregistered = device->UnregisterHost(fill.data());
  if (!filled.ok()) return filled.Annotate(card + ": writing the slots once");
  if (!unregistered.ok()) return unregistered;
  return arena;
}

std::byte* CardArena::slot(SlotIndex index) const {
  for (size_t c = 0; c < slabs_.size(); ++c) {
    const SlotClassPlan& plan = plan_.arena.classes[c];
    if (index - plan.first_slot < plan.slots) return slabs_[c].slot(index - plan.first_slot);
  }
  BERTH_CHECK_MSG(false, "a slot beyond the arena");
  return nullptr;
}

}  // namespace berth::arena
