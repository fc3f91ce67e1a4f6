#include "runtime/engine/host_layout.h"

#include <algorithm>
#include <string>

#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/math.h"

namespace berth {

Result<HostLayout> HostLayout::Create(const Catalog* catalog,
                                      const std::vector<uint32_t>& class_slots,
                                      uint32_t staging_slots) {
  HostLayout layout;
  layout.catalog_ = catalog;
  uint64_t bytes = 0;
  for (size_t c = 0; c < catalog->size_classes().size(); ++c) {
    const uint64_t stride = catalog->size_classes()[c].host_bytes;
    const uint32_t slots = class_slots.empty() ? 0 : class_slots[c];
    layout.class_offset_.push_back(bytes);
    layout.class_stride_.push_back(stride);
    layout.class_base_.push_back(layout.slot_count_);
    layout.staging_stride_ = std::max(layout.staging_stride_, stride);
    bytes += stride * slots;
    layout.slot_count_ += slots;
  }
  layout.staging_base_ = layout.slot_count_;
  layout.slot_count_ += staging_slots;
  arena::HostRegionOptions options;
  if (bytes > 0) {
    options.bytes = bytes;
    options.purpose = "host tier";
    BERTH_ASSIGN_OR_RETURN(layout.tier_, arena::HostRegion::Create(options));
  }
  options.bytes = layout.staging_stride_ * staging_slots;
  options.purpose = "staging";
  BERTH_ASSIGN_OR_RETURN(layout.staging_, arena::HostRegion::Create(options));
  return layout;
}

ExtentPlace HostLayout::Place(const Catalog& catalog, UnitIndex unit, uint32_t extent) {
  ExtentPlace place;
  const std::span<const Extent> extents = catalog.extents(unit);
  for (uint32_t e = 0;; ++e) {
    const uint64_t begin = AlignDown(extents[e].offset, kIoAlign);
    const uint64_t end = AlignUp(extents[e].offset + extents[e].bytes, kIoAlign);
    if (e < extent) {
      place.span_offset += end - begin;
      continue;
    }
    place.span_bytes = static_cast<uint32_t>(end - begin);
    place.payload_head = static_cast<uint32_t>(extents[e].offset - begin);
    return place;
  }
}

std::byte* HostLayout::Address(const scheduler::HostSlot& slot) const {
  if (slot.staging) return staging_.data() + staging_stride_ * slot.slot;
  return tier_.data() + class_offset_[slot.size_class] + class_stride_[slot.size_class] * slot.slot;
}

uint32_t HostLayout::DenseIndex(const scheduler::HostSlot& slot) const {
  return slot.slot + (slot.staging ? staging_base_ : class_base_[slot.size_class]);
}

io::ReadRequest HostLayout::Read(UnitIndex unit, uint32_t extent,
                                 const scheduler::HostSlot& slot) const {
  const Extent& e = catalog_->extents(unit)[extent];
  const ExtentPlace place = Place(*catalog_, unit, extent);
  io::ReadRequest read;
  read.file = e.file;
  read.offset = e.offset - place.payload_head;
  read.length = place.span_bytes;
  read.need = place.payload_head + e.bytes;
  read.destination = Address(slot) + place.span_offset;
  return read;
}

CopyPlan HostLayout::Copy(UnitIndex unit, const scheduler::HostSlot& slot, std::byte* card_slot,
                          bool to_card) const {
  CopyPlan plan;
  std::byte* const base = Address(slot);
  for (const Extent& e : catalog_->extents(unit)) {
    const ExtentPlace place = Place(*catalog_, unit, plan.count);
    std::byte* const host = base + place.span_offset + place.payload_head;
    std::byte* const card = card_slot + e.card_offset;
    plan.segments[plan.count++] = {to_card ? host : card, to_card ? card : host, e.bytes};
  }
  return plan;
}

std::array<int64_t, kMaxExtents> HostLayout::Shifts(
    UnitIndex unit, std::span<const uint64_t, kMaxExtents> offsets) const {
  std::array<int64_t, kMaxExtents> shifts = {};
  const std::span<const Extent> extents = catalog_->extents(unit);
  for (uint32_t e = 0; e < extents.size(); ++e) {
    const ExtentPlace place = Place(*catalog_, unit, e);
    const uint64_t first = extents[e].card_offset;
    for (size_t m = 0; m < offsets.size(); ++m) {
      if (offsets[m] < first || offsets[m] >= first + extents[e].bytes) continue;
      shifts[m] = static_cast<int64_t>(place.span_offset + place.payload_head) -
                  static_cast<int64_t>(first);
    }
  }
  return shifts;
}

uint64_t HostLayout::Checksum(UnitIndex unit, const scheduler::HostSlot& slot) const {
  const CopyPlan plan = Copy(unit, slot, nullptr, /*to_card=*/true);
  if (plan.count == 1) return Hash64(plan.segments[0].from, plan.segments[0].bytes);
  thread_local StreamHash64 hash;
  hash.Reset();
  for (uint32_t s = 0; s < plan.count; ++s) {
    hash.Update(plan.segments[s].from, plan.segments[s].bytes);
  }
  return hash.Digest();
}

std::vector<io::BufferRegion> HostLayout::regions() const {
  std::vector<io::BufferRegion> regions;
  if (tier_.bytes() > 0) regions.push_back({tier_.data(), tier_.bytes()});
  regions.push_back({staging_.data(), staging_.bytes()});
  return regions;
}

std::vector<std::string> HostLayout::notes() const {
  std::vector<std::string> notes;
  for (const arena::HostRegion* region : {&tier_, &staging_}) {
    if (region->bytes() == 0) continue;
    const char* name = region == &tier_ ? "host tier: " : "staging: ";
    if (!region->note().empty()) notes.push_back(name + region->note());
    if (region->huge_bytes() * 10 < region->bytes() * 9) {
      notes.push_back(name + FormatBytes(region->huge_bytes()) + " of " +
                      FormatBytes(region->bytes()) +
                      " are huge pages: reads are slower on the rest");
    }
  }
  return notes;
}

}  // namespace berth
