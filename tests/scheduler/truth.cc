#include "tests/scheduler/truth.h"

namespace berth::scheduler {

Truth::Truth(const CoreOptions& options, bool checksums, Promises* promises)
    : options_(options),
      geometry_(options.geometry),
      checksums_(checksums),
      promises_(promises),
      staging_(options.staging_slots + options.prefetch_staging_slots),
      table_(options.geometry.units()),
      drives_(options.geometry.drives),
      links_(options.cards.size()) {
  for (uint32_t slots : options.host_class_slots) {
    host_base_.push_back(static_cast<uint32_t>(host_.size()));
    host_.resize(host_.size() + slots);
  }
  for (const CardOptions& card : options.cards) {
    CardSlots made;
    for (uint32_t slots : card.class_slots) {
      made.base.push_back(static_cast<uint32_t>(made.arena.size()));
      made.arena.resize(made.arena.size() + slots);
    }
    made.ring.resize(card.ring_slots);
    cards_.push_back(std::move(made));
  }
}

// ---- reads

void Truth::BeginRead(const ReadAction& action) {
  Slot& to = At(action.to);
  promises_->Expect(to.computing == 0, "unit ", action.unit,
                    ": a read into a slot that the host computes from");
  promises_->Expect(to.readers == 0, "unit ", action.unit,
                    ": a read into a slot that is being copied from");
  promises_->Expect(to.writer == 0 || to.writer == action.op, "unit ", action.unit,
                    ": two operations write one host slot");
  promises_->Expect(action.extent < geometry_.extents(action.unit), "an extent that is not there");
  if (to.writer == 0) {
    to.extents.fill(kNoUnit);
    to.flips = 0;
    to.written = 0;
    to.failed = false;
  }
  to.writer = action.op;
  ++to.pieces;
  Depart(
      &drives_[geometry_.drive_of(action.unit)], geometry_.read_bytes(action.unit, action.extent),
      action.prefetch,
      {options_.read_bytes_in_flight, options_.prefetch_read_bytes_in_flight, options_.max_reads},
      "a drive");
}

bool Truth::EndRead(const ReadAction& action, bool whole, bool flipped) {
  Slot& to = At(action.to);
  promises_->Expect(to.writer == action.op && to.readers == 0, "unit ", action.unit,
                    ": a host slot changed hands during a read");
  --to.pieces;
  ++to.written;
  if (whole) to.extents[action.extent] = action.unit;
  if (whole && flipped) to.flips |= static_cast<uint8_t>(1u << action.extent);
  to.failed |= !whole;
  const bool all = to.written == geometry_.extents(action.unit);
  // After a failure the pieces that were not asked for yet never are.
  if (to.pieces == 0 && (to.failed || all)) to.writer = 0;
  Arrive(&drives_[geometry_.drive_of(action.unit)],
         geometry_.read_bytes(action.unit, action.extent), action.prefetch);
  return all && !to.failed;
}

bool Truth::Flipped(const HostSlot& slot, UnitIndex unit) {
  const Slot& at = At(slot);
  return Holds(at, unit) && at.flips != 0;
}

bool Truth::Flipped(const CardSlot& slot, UnitIndex unit) {
  const Slot& at = At(slot);
  return Holds(at, unit) && at.flips != 0;
}

// ---- copies

void Truth::BeginCopy(const CopyAction& action) {
  Slot& host = At(action.host);
  Slot& card = At(action.card);
  Slot& from = action.to_card ? host : card;
  Slot& to = action.to_card ? card : host;
  promises_->Expect(from.writer == 0 && Holds(from, action.unit), "unit ", action.unit,
                    ": a copy starts from a slot without its bytes");
  promises_->Expect(!checksums_ || from.flips == 0, "unit ", action.unit,
                    ": wrong bytes are copied, and there are checksums");
  promises_->Expect(to.readers == 0 && to.writer == 0, "unit ", action.unit,
                    ": a copy over a slot in use");
  promises_->Expect(to.listed == 0, "unit ", action.unit,
                    ": a copy into a slot that a table still points at");
  promises_->Expect(to.updating == 0, "unit ", action.unit,
                    ": a copy into a slot whose table update is under way");
  promises_->Expect(!to.uncertain, "unit ", action.unit,
                    ": a copy into a slot that a table may still point at");
  ++from.readers;
  to.writer = action.op;
  to.extents.fill(kNoUnit);
  to.flips = 0;
  Depart(
      &links_[action.card.card], geometry_.payload_bytes(action.unit), action.prefetch,
      {options_.copy_bytes_in_flight, options_.prefetch_copy_bytes_in_flight, options_.max_copies},
      "a link");
}

void Truth::EndCopy(const CopyAction& action, bool landed) {
  Slot& host = At(action.host);
  Slot& card = At(action.card);
  Slot& from = action.to_card ? host : card;
  Slot& to = action.to_card ? card : host;
  promises_->Expect(Holds(from, action.unit) && from.writer == 0, "unit ", action.unit,
                    ": the source was overwritten during its copy");
  promises_->Expect(to.writer == action.op && to.readers == 0, "unit ", action.unit,
                    ": a slot changed hands during a copy");
  --from.readers;
  to.writer = 0;
  if (landed) {
    to.extents = from.extents;
    to.flips = from.flips;
  }
  Arrive(&links_[action.card.card], geometry_.payload_bytes(action.unit), action.prefetch);
}

// ---- tables

void Truth::BeginUpdate(const PublishAction& action) {
  Entry& entry = table_[action.unit];
  Slot& slot = At(action.slot);
  promises_->Expect(!action.slot.ring, "a ring slot is published");
  promises_->Expect(!entry.moving, "unit ", action.unit, ": two updates of one entry at once");
  promises_->Expect(!action.publish || (slot.writer == 0 && Holds(slot, action.unit)), "unit ",
                    action.unit, " is published before its bytes are there");
  promises_->Expect(action.publish || slot.readers == 0, "unit ", action.unit,
                    " is withdrawn from under its readers");
  entry.moving = true;
  ++slot.updating;
}

void Truth::ApplyUpdate(const PublishAction& action) {
  Entry& entry = table_[action.unit];
  promises_->Expect(!action.publish || entry.uncertain || entry.slot.slot == kNoSlot, "unit ",
                    action.unit, " is published at a second place");
  promises_->Expect(action.publish || entry.uncertain || entry.slot.slot == kNoSlot ||
                        Same(entry.slot, action.slot),
                    "unit ", action.unit, ": a withdrawal undoes a newer place");
  if (entry.slot.slot != kNoSlot) --At(entry.slot).listed;
  entry.slot = action.publish ? action.slot : CardSlot{};
  if (action.publish) ++At(action.slot).listed;
}

void Truth::EndUpdate(const PublishAction& action, bool ok) {
  Entry& entry = table_[action.unit];
  Slot& slot = At(action.slot);
  entry.moving = false;
  entry.uncertain = !ok;
  --slot.updating;
  slot.uncertain |= !ok;
  promises_->Expect(!action.publish || (slot.writer == 0 && Holds(slot, action.unit)), "unit ",
                    action.unit, " left while it was published");
}

void Truth::CheckTables() {
  for (UnitIndex unit = 0; unit < table_.size(); ++unit) {
    const CardSlot& place = table_[unit].slot;
    if (place.slot == kNoSlot) continue;
    const Slot& slot = At(place);
    promises_->Expect(slot.writer == 0 && Holds(slot, unit), "unit ", unit,
                      ": the table points at a slot without its bytes");
    promises_->Expect(!checksums_ || slot.flips == 0, "unit ", unit,
                      " can be read, and its bytes are wrong");
  }
}

void Truth::CheckInPlace(UnitIndex unit, const CardSlot& slot, std::string_view what) {
  promises_->Expect(slot.slot != kNoSlot && Same(table_[unit].slot, slot) && Holds(At(slot), unit),
                    "unit ", unit, " is ", what, " and not in its place");
}

void Truth::CheckTablesAre(const Core& core) {
  for (UnitIndex unit = 0; unit < table_.size(); ++unit) {
    const CardSlot slot = core.Find(unit);
    if (slot.slot != kNoSlot) {
      CheckInPlace(unit, slot, "resident");
    } else {
      promises_->Expect(table_[unit].uncertain || table_[unit].slot.slot == kNoSlot, "unit ", unit,
                        " has left and is still listed");
    }
  }
}

// ---- waves

void Truth::BeginWave(const ComputeAction& action) {
  CheckWave(action, "starts");
  for (const WaveUnit& unit : action.units) {
    if (action.on_host) {
      ++At(unit.host).computing;
      ++At(unit.host).readers;
    } else {
      ++At(unit.slot).readers;
    }
  }
}

void Truth::EndWave(const ComputeAction& action) {
  CheckWave(action, "ends");
  for (const WaveUnit& unit : action.units) {
    if (action.on_host) {
      --At(unit.host).computing;
      --At(unit.host).readers;
    } else {
      --At(unit.slot).readers;
    }
  }
}

void Truth::CheckWave(const ComputeAction& action, const char* when) {
  for (const WaveUnit& unit : action.units) {
    const Slot& slot = action.on_host ? At(unit.host) : At(unit.slot);
    promises_->Expect(slot.writer == 0 && Holds(slot, unit.unit),
                      action.on_host ? "a host wave " : "a wave ", when, " on a slot without unit ",
                      unit.unit);
    promises_->Expect(!checksums_ || slot.flips == 0, "a wave ", when,
                      " on wrong bytes, and there are checksums: unit ", unit.unit);
    if (action.on_host) {
      promises_->Expect(
          options_.miss != CoreOptions::Miss::kStage && unit.pair_count <= options_.exact_rows,
          "the host computes unit ", unit.unit, ", and it may not");
      continue;
    }
    promises_->Expect(unit.slot.card == action.card, "a wave names a slot of another card");
    promises_->Expect(unit.slot.ring || Same(table_[unit.unit].slot, unit.slot), "a wave ", when,
                      " while the table entry of unit ", unit.unit, " points elsewhere");
  }
}

// ---- places and ways

Truth::Slot& Truth::At(const HostSlot& s) {
  std::vector<Slot>& slots = s.staging ? staging_ : host_;
  const uint32_t base =
      s.staging || s.size_class >= host_base_.size() ? 0 : host_base_[s.size_class];
  const bool there = s.staging ? s.slot < staging_.size()
                               : s.size_class < host_base_.size() &&
                                     s.slot < options_.host_class_slots[s.size_class];
  promises_->Expect(there, "a host slot that is not there");
  return there ? slots[base + s.slot] : nowhere_;
}

Truth::Slot& Truth::At(const CardSlot& s) {
  CardSlots& card = cards_[s.card];
  const CardOptions& options = options_.cards[s.card];
  const bool there = s.slot < (s.ring ? options.ring_slots : options.class_slots[s.size_class]);
  promises_->Expect(there, "a card slot that is not there");
  if (!there) return nowhere_;
  return s.ring ? card.ring[s.slot] : card.arena[card.base[s.size_class] + s.slot];
}

bool Truth::Holds(const Slot& slot, UnitIndex unit) const {
  for (uint32_t e = 0; e < geometry_.extents(unit); ++e) {
    if (slot.extents[e] != unit) return false;
  }
  return true;
}

void Truth::Depart(Flight* flight, uint64_t bytes, bool prefetch, const Bounds& bounds,
                   const char* what) {
  // One piece larger than a bound may go alone.
  promises_->Expect(flight->pieces == 0 || flight->bytes + bytes <= bounds.bytes,
                    "too many bytes in flight on ", what);
  promises_->Expect(!prefetch || flight->prefetch_pieces == 0 ||
                        flight->prefetch_bytes + bytes <= bounds.prefetch_bytes,
                    "too many bytes of prefetch in flight on ", what);
  promises_->Expect(!prefetch || flight->pieces == flight->prefetch_pieces,
                    "prefetch starts beside demand on ", what);
  promises_->Expect(flight->pieces < bounds.pieces, "too many pieces in flight on ", what);
  flight->bytes += bytes;
  ++flight->pieces;
  if (!prefetch) return;
  flight->prefetch_bytes += bytes;
  ++flight->prefetch_pieces;
}

void Truth::Arrive(Flight* flight, uint64_t bytes, bool prefetch) {
  flight->bytes -= bytes;
  --flight->pieces;
  if (!prefetch) return;
  flight->prefetch_bytes -= bytes;
  --flight->prefetch_pieces;
}

}  // namespace berth::scheduler
