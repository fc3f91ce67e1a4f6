// HostLayout: where units lie in host memory, and how they get in and out.
//
// A host slot holds a unit's extents one after the other, each as it was read: rounded out to the
// drive's alignment, so with a head of up to 4095 bytes before its payload. Copies to a card pick
// the payloads out and put them at the catalog's card offsets.
//
//   host slot   [head|payload of gate|tail][head|payload of up|tail][head|payload of down|tail]
//   card slot   [gate......][up......][down......]     each at a multiple of 256
#ifndef BERTH_RUNTIME_ENGINE_HOST_LAYOUT_H_
#define BERTH_RUNTIME_ENGINE_HOST_LAYOUT_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "arena/host_region.h"
#include "io/storage.h"
#include "kernels/device.h"
#include "runtime/catalog/catalog.h"
#include "scheduler/actions.h"

namespace berth {

// A unit's copy, one segment per extent.
struct CopyPlan {
  std::array<kernels::CopySegment, kMaxExtents> segments;
  uint32_t count = 0;
};

// Where an extent lies in a host slot, from the slot's first byte.
struct ExtentPlace {
  uint64_t span_offset = 0;  // of the aligned span that is read
  uint32_t span_bytes = 0;
  uint32_t payload_head = 0;  // payload begins this far into the span
};

// Owns the memory of the host tier and of staging. Immutable after Create.
class HostLayout {
 public:
  // class_slots: of the host tier, per size class of the catalog.
  static Result<HostLayout> Create(const Catalog* catalog, const std::vector<uint32_t>& class_slots,
                                   uint32_t staging_slots);

  static ExtentPlace Place(const Catalog& catalog, UnitIndex unit, uint32_t extent);

  std::byte* Address(const scheduler::HostSlot& slot) const;
  // A number for every slot of the tier and of staging, below slot_count().
  uint32_t DenseIndex(const scheduler::HostSlot& slot) const;
  uint32_t slot_count() const { return slot_count_; }

  io::ReadRequest Read(UnitIndex unit, uint32_t extent, const scheduler::HostSlot& slot) const;
  CopyPlan Copy(UnitIndex unit, const scheduler::HostSlot& slot, std::byte* card_slot,
                bool to_card) const;
  // Where matrices lie that begin at `offsets` of a unit on a card, from Address(slot), of one in a
  // host slot: how much further than there.
  std::array<int64_t, kMaxExtents> Shifts(UnitIndex unit,
                                          std::span<const uint64_t, kMaxExtents> offsets) const;
  // XXH3-64 of the unit's payload as it lies in the slot.
  uint64_t Checksum(UnitIndex unit, const scheduler::HostSlot& slot) const;

  std::vector<io::BufferRegion> regions() const;
  uint64_t tier_bytes() const { return tier_.bytes(); }
  uint64_t staging_bytes() const { return staging_.bytes(); }
  // What the machine refused, and how much of the memory became huge pages.
  std::vector<std::string> notes() const;

 private:
  const Catalog* catalog_ = nullptr;
  arena::HostRegion tier_;
  arena::HostRegion staging_;
  std::vector<uint64_t> class_offset_;  // into the tier's memory
  std::vector<uint64_t> class_stride_;
  std::vector<uint32_t> class_base_;  // dense index of the class's first slot
  uint64_t staging_stride_ = 0;
  uint32_t staging_base_ = 0;
  uint32_t slot_count_ = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_HOST_LAYOUT_H_
