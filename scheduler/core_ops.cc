// Core: what happens when something is done.
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/guards.h"
#include "scheduler/core.h"

namespace berth::scheduler {

void Core::OpReady(uint32_t index) {
  Op& op = graph_.op(index);
  if (!op.status.ok()) {
    Complete(index, Status(op.status));
    return;
  }
  if (closing_) {
    Complete(index, CancelledError("closed before it began"));
    return;
  }
  switch (op.kind) {
    case OpKind::kRead: {
      const uint32_t drive = geometry_.drive_of(op.unit);
      reads_[drive].Push(&graph_, index);
      PumpReads(drive);
      break;
    }
    case OpKind::kCopyUp:
      if (CardSlotOf(op.card).retired) {
        Complete(index, UnavailableError("card " + std::to_string(op.card.card) +
                                         ": a table update failed, so its slot cannot take unit " +
                                         std::to_string(op.unit)));
        break;
      }
      [[fallthrough]];
    case OpKind::kCopyBack:
      cards_[op.card.card].copies->Push(&graph_, index);
      PumpCopies(op.card.card);
      break;
    case OpKind::kPublish:
    case OpKind::kUnpublish:
      op.emitted = true;
      if (op.kind == OpKind::kUnpublish) CardSlotOf(op.card).state = SlotState::kLeaving;
      sink_->Publish({graph_.id(index), op.unit, op.card, op.kind == OpKind::kPublish});
      if (BERTH_BROKEN(kFreeAfterUpdate) && op.kind == OpKind::kUnpublish) {
        graph_.Finish(index, Status());
      }
      break;
    case OpKind::kWave:
    case OpKind::kHostWave:
      EmitCompute(index);
      break;
    case OpKind::kLease:
      Complete(index, Status());
      break;
  }
}

void Core::PumpReads(uint32_t drive) {
  TransferQueue& queue = reads_[drive];
  const auto bytes_of = [this](uint32_t index) {
    const Op& op = graph_.op(index);
    return geometry_.read_bytes(op.unit, op.extents_emitted);
  };
  for (uint32_t index; (index = queue.Next(bytes_of)) != kNone;) {
    Op& op = graph_.op(index);
    const uint32_t extent = op.extents_emitted++;
    queue.Started(geometry_.read_bytes(op.unit, extent), op.prefetch);
    if (op.prefetch) op.prefetch_mask |= 1u << extent;
    if (extent == 0) {
      op.emitted = true;
      Slot& slot = HostSlotOf(op.host);
      slot.holds = kNoUnit;
      slot.state = SlotState::kLoading;
    }
    if (op.extents_emitted == geometry_.extents(op.unit)) queue.Remove(&graph_, index);
    sink_->Read({graph_.id(index), op.unit, extent, op.host, op.prefetch});
  }
}

void Core::PumpCopies(uint32_t card) {
  TransferQueue& queue = *cards_[card].copies;
  const auto bytes_of = [this](uint32_t index) {
    return geometry_.payload_bytes(graph_.op(index).unit);
  };
  for (uint32_t index; (index = queue.Next(bytes_of)) != kNone;) {
    Op& op = graph_.op(index);
    queue.Remove(&graph_, index);
    queue.Started(bytes_of(index), op.prefetch);
    if (op.prefetch) op.prefetch_mask = 1;
    op.emitted = true;
    const bool to_card = op.kind == OpKind::kCopyUp;
    Slot& host = HostSlotOf(op.host);
    Slot& slot = CardSlotOf(op.card);
    BERTH_CHECK_MSG((to_card ? host : slot).holds == op.unit,
                    "a copy from a slot without the unit");
    Slot& target = to_card ? slot : host;
    target.holds = kNoUnit;
    target.state = SlotState::kLoading;
    sink_->Copy({graph_.id(index), op.unit, op.host, op.card, to_card, op.prefetch});
  }
}

void Core::CheckWaveUnits(const Op& op, std::span<const WaveUnit> units) {
  const bool on_host = op.kind == OpKind::kHostWave;
  if (on_host && BERTH_BROKEN(kComputeAfterRead)) return;
  for (const WaveUnit& unit : units) {
    const Slot& slot = on_host ? HostSlotOf(unit.host) : CardSlotOf(unit.slot);
    BERTH_CHECK_MSG(slot.holds == unit.unit && slot.state == SlotState::kResident,
                    "a wave would read a slot that does not hold its unit");
  }
}

void Core::EmitCompute(uint32_t index) {
  Op& op = graph_.op(index);
  const Ticket& ticket = tickets_[op.owner];
  const std::span<const WaveUnit> units(&ticket.units[op.first_unit], op.unit_count);
  CheckWaveUnits(op, units);
  op.emitted = true;
  ComputeAction action;
  action.op = graph_.id(index);
  action.ticket = (static_cast<uint64_t>(ticket.generation) << 32) | op.owner;
  action.cookie = ticket.cookie;
  action.layer = ticket.layer;
  action.card = op.card.card;
  action.on_host = op.kind == OpKind::kHostWave;
  action.wave = op.wave;
  action.units = units;
  action.pairs = {ticket.pairs.data(), ticket.pair_count};
  sink_->Compute(action);
}

void Core::ReadDone(OpId id, uint32_t extent, const Status& status) {
  const uint32_t index = graph_.Find(id);
  BERTH_CHECK_MSG(index != kNone && graph_.op(index).kind == OpKind::kRead,
                  "a completion of no read");
  Op& op = graph_.op(index);
  BERTH_CHECK_MSG(
      extent < op.extents_emitted && op.extents_left > 0 && ((op.answered_mask >> extent) & 1) == 0,
      "an extent was answered that is not being read");
  op.answered_mask |= 1u << extent;
  const uint32_t drive = geometry_.drive_of(op.unit);
  reads_[drive].Ended(geometry_.read_bytes(op.unit, extent), (op.prefetch_mask >> extent) & 1);
  if (!status.ok() && op.status.ok()) op.status = status;
  // With an error the rest need not be read, but what is under way must come home first.
  if (!op.status.ok() && op.queued) {
    reads_[drive].Remove(&graph_, index);
    op.extents_left -= geometry_.extents(op.unit) - op.extents_emitted;
    op.extents_emitted = geometry_.extents(op.unit);
  }
  if (--op.extents_left == 0) Complete(index, Status(op.status));
  PumpReads(drive);
}

void Core::CopyDone(OpId id, const Status& status) {
  const uint32_t index = graph_.Find(id);
  BERTH_CHECK_MSG(index != kNone, "a completion of no copy");
  const Op& op = graph_.op(index);
  BERTH_CHECK((op.kind == OpKind::kCopyUp || op.kind == OpKind::kCopyBack) && op.emitted);
  if (BERTH_BROKEN(kCountEveryCompletion) && op.prefetch_mask != 0) return;
  const uint32_t card = op.card.card;
  cards_[card].copies->Ended(geometry_.payload_bytes(op.unit), op.prefetch_mask != 0);
  Complete(index, status);
  PumpCopies(card);
}

void Core::PublishDone(OpId id, const Status& status) {
  const uint32_t index = graph_.Find(id);
  if (BERTH_BROKEN(kFreeAfterUpdate) && index == kNone) return;
  BERTH_CHECK_MSG(index != kNone, "a completion of no table update");
  const Op& op = graph_.op(index);
  BERTH_CHECK((op.kind == OpKind::kPublish || op.kind == OpKind::kUnpublish) && op.emitted);
  if (!status.ok()) {
    // Applied or not, nobody knows: the table may point at the slot, so its bytes must stay.
    Card& card = cards_[op.card.card];
    if (!BERTH_BROKEN(kDropUncertainSlot)) {
      card.arena->Retire(card.base[op.card.size_class] + op.card.slot);
    }
    ++counters_.failed_updates;
    CountGuesses();
  }
  Complete(index, status);
}

void Core::ComputeDone(OpId id, const Status& status) {
  const uint32_t index = graph_.Find(id);
  BERTH_CHECK_MSG(index != kNone, "a completion of no wave");
  const Op& op = graph_.op(index);
  BERTH_CHECK((op.kind == OpKind::kWave || op.kind == OpKind::kHostWave) && op.emitted);
  Complete(index, status);
}

void Core::Complete(uint32_t index, const Status& status) {
  Op& op = graph_.op(index);
  switch (op.kind) {
    case OpKind::kRead:
    case OpKind::kCopyUp:
    case OpKind::kCopyBack:
      Landed(index, status);
      break;
    case OpKind::kPublish:
      if (status.ok()) {
        CardSlotOf(op.card).state = SlotState::kResident;
      } else {
        Forget(index);
      }
      break;
    case OpKind::kUnpublish:
      if (!status.ok()) break;  // the slot is retired, or all is closed
      CardSlotOf(op.card).state = SlotState::kEmpty;
      CardSlotOf(op.card).holds = kNoUnit;
      break;
    case OpKind::kWave:
    case OpKind::kHostWave:
      EndWave(index, status);
      break;
    case OpKind::kLease:
      EndLease(index, status);
      break;
  }
  graph_.Finish(index, status);
}

// The bytes are in their slot, or will not come.
void Core::Landed(uint32_t index, const Status& status) {
  Op& op = graph_.op(index);
  const bool to_card = op.kind == OpKind::kCopyUp;
  if (!status.ok()) {
    if (op.emitted && status.code() != StatusCode::kCancelled) ++counters_.failed_reads;
    if (!BERTH_BROKEN(kForgetFailed)) Forget(index);
    return;
  }
  Slot& slot = to_card ? CardSlotOf(op.card) : HostSlotOf(op.host);
  slot.holds = op.unit;
  // A slot of the arena can be read once it is published; any other at once.
  if (!to_card || op.card.ring) slot.state = SlotState::kResident;
}

// The decision that this operation's slot holds its unit is void, unless a later decision has
// already replaced it.
void Core::Forget(uint32_t index) {
  const Op& op = graph_.op(index);
  if (op.kind == OpKind::kCopyUp || op.kind == OpKind::kPublish) {
    if (op.card.ring) return;
    const Slot& slot = CardSlotOf(op.card);
    if (slot.unit == op.unit && slot.generation == op.slot_generation) {
      cards_[op.card.card].arena->Leave(cards_[op.card.card].base[op.card.size_class] +
                                        op.card.slot);
      CountGuesses();
    }
    return;
  }
  if (op.host.staging) return;
  const Slot& slot = HostSlotOf(op.host);
  if (slot.unit == op.unit && slot.generation == op.slot_generation) {
    host_->Leave(host_base_[op.host.size_class] + op.host.slot);
  }
}

void Core::EndWave(uint32_t index, const Status& status) {
  const uint32_t owner = graph_.op(index).owner;
  Ticket& ticket = tickets_[owner];
  if (!status.ok() && ticket.status.ok()) ticket.status = status;
  if (--ticket.waves_left > 0) return;
  if (!ticket.status.ok()) ++counters_.failed_steps;
  ticket.live = false;
  free_tickets_.push_back(owner);
  sink_->TicketDone((static_cast<uint64_t>(ticket.generation) << 32) | owner, ticket.cookie,
                    ticket.status);
}

void Core::EndLease(uint32_t index, const Status& status) {
  const uint32_t owner = graph_.op(index).owner;
  Lease& lease = leases_[owner];
  lease.waiting = false;
  lease_units_ -= lease.units;
  if (lease.released) {
    FreeLease(owner);
    return;
  }
  const LeaseId id = (static_cast<uint64_t>(lease.generation) << 32) | owner;
  const uint64_t cookie = lease.cookie;
  if (!status.ok()) {
    // Void: nothing stays pinned.
    UnpinUnits(&lease);
    FreeLease(owner);
  }
  sink_->LeaseReady(id, cookie, status);
}

// Demand has come to need what a hint began: it goes with demand from here on, and so does what it
// waits for in its turn (the read of a copy; for a read, the copy that frees its slot).
void Core::Promote(OpRef ref) {
  while (graph_.alive(ref)) {
    Op& op = graph_.op(ref.index);
    if (!op.prefetch) return;
    const OpRef source = op.source;
    if (!op.queued) {
      op.prefetch = false;
    } else if (op.kind == OpKind::kRead) {
      const uint32_t drive = geometry_.drive_of(op.unit);
      reads_[drive].Promote(&graph_, ref.index);
      PumpReads(drive);  // the bound of prefetch no longer holds it
    } else {
      const uint32_t card = op.card.card;
      cards_[card].copies->Promote(&graph_, ref.index);
      PumpCopies(card);
    }
    ref = source;
  }
}

void Core::Close() {
  closing_ = true;
  for (TransferQueue& queue : reads_) {
    while (queue.first() != kNone) {
      const uint32_t index = queue.first();
      queue.Remove(&graph_, index);
      Op& op = graph_.op(index);
      const uint32_t unit_extents = geometry_.extents(op.unit);
      op.extents_left -= unit_extents - op.extents_emitted;
      op.extents_emitted = unit_extents;
      op.status = CancelledError("closed before the read began");
      if (op.extents_left == 0) Complete(index, Status(op.status));
    }
  }
  for (Card& card : cards_) {
    while (card.copies->first() != kNone) {
      const uint32_t index = card.copies->first();
      card.copies->Remove(&graph_, index);
      Complete(index, CancelledError("closed before the copy began"));
    }
  }
}

}  // namespace berth::scheduler
