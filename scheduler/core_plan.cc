// Core: what is decided when something is submitted.
#include <algorithm>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/guards.h"
#include "scheduler/core.h"
#include "scheduler/place.h"

namespace berth::scheduler {
namespace {

uint64_t Mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

}  // namespace

void Core::Decided(uint64_t a, uint64_t b) {
  counters_.decisions = Mix(counters_.decisions ^ Mix(a + 0x9e3779b97f4a7c15u) ^ b);
}

Status Core::CheckStep(const StepSpec& step) const {
  if (closing_) return FailedPreconditionError("the runtime is closed");
  if (step.layer >= geometry_.layers) {
    return OutOfRangeError("layer " + std::to_string(step.layer) + " of " +
                           std::to_string(geometry_.layers));
  }
  if (step.rows == 0 || step.rows > options_.max_rows) {
    return OutOfRangeError("a step of " + std::to_string(step.rows) + " rows: 1 to max_rows = " +
                           std::to_string(options_.max_rows) + " are served");
  }
  if (step.ids.size() != static_cast<size_t>(step.rows) * geometry_.top_k) {
    return InvalidArgumentError(
        "a step needs rows x top-k expert ids, " + std::to_string(step.rows) + " x " +
        std::to_string(geometry_.top_k) + ", and got " + std::to_string(step.ids.size()));
  }
  for (int32_t id : step.ids) {
    if (id != kNoExpert && (id < 0 || static_cast<uint32_t>(id) >= geometry_.experts)) {
      return OutOfRangeError("expert id " + std::to_string(id) + " in layer " +
                             std::to_string(step.layer) + ": the model has " +
                             std::to_string(geometry_.experts) + " experts");
    }
  }
  if (free_tickets_.empty()) {
    return ResourceExhaustedError("max_tickets = " + std::to_string(options_.max_tickets) +
                                  " steps are under way: wait for one");
  }
  return Status();
}

Result<TicketId> Core::SubmitStep(const StepSpec& step) {
  BERTH_RETURN_IF_ERROR(CheckStep(step));
  const uint32_t index = free_tickets_.back();
  free_tickets_.pop_back();
  Ticket& ticket = tickets_[index];
  ticket.live = true;
  ++ticket.generation;
  ticket.cookie = step.cookie;
  ticket.layer = step.layer;
  ticket.units.clear();
  ticket.status = Status();
  const TicketId id = (static_cast<uint64_t>(ticket.generation) << 32) | index;

  const bool sweep = step.rows > options_.sweep_rows;
  BeginStep(step.layer, step.pass, sweep);
  for (Card& card : cards_) card.arena->EndAwait(step.layer);
  ++counters_.steps;
  counters_.rows += step.rows;
  Decided(step.layer, step.rows);
  Group(step, &ticket);
  for (Local& local : locals_) {
    Tier& arena = *cards_[local.card].arena;
    const uint32_t slot = arena.Find(local.unit);
    local.hit = slot != kNone;
    arena.Touch(local.unit, local.pair_count);
    if (!local.hit && host_ != nullptr) host_->Touch(local.unit, local.pair_count);
  }
  if (split_ != nullptr) SplitMisses(step);
  ticket.waves_left = 1;  // held until all waves are there
  for (uint32_t card = 0; card < cards_.size(); ++card) {
    PlanCard(card, index);
    if (split_ != nullptr) PlanOnHost(card, index);
  }
  if (split_ != nullptr) split_->EndStep();
  CountGuesses();
  if (--ticket.waves_left == 0) {
    ticket.live = false;
    free_tickets_.push_back(index);
    sink_->TicketDone(id, ticket.cookie, ticket.status);
  }
  return id;
}

void Core::BeginStep(uint32_t layer, uint64_t pass, bool sweep) {
  ++stamp_;
  if (!any_pass_ || pass > pass_) {
    pass_ = pass;
    any_pass_ = true;
    ++counters_.passes;
  }
  for (Card& card : cards_) card.arena->BeginStep(layer, pass_, sweep);
  if (host_ != nullptr) host_->BeginStep(layer, pass_, sweep);
}

// Distinct units in first-appearance order, each with its pairs in ascending order.
void Core::Group(const StepSpec& step, Ticket* ticket) {
  locals_.clear();
  for (int32_t id : step.ids) {
    if (id == kNoExpert) continue;
    if (expert_stamp_[id] != stamp_) {
      expert_stamp_[id] = stamp_;
      local_of_expert_[id] = static_cast<uint32_t>(locals_.size());
      const UnitIndex unit = step.layer * geometry_.experts + id;
      stamps_[unit] = stamp_;
      locals_.push_back({unit, CardOf(unit), 0, 0, false, false, false});
    }
    ++locals_[local_of_expert_[id]].pair_count;
  }
  uint32_t at = 0;
  for (Local& local : locals_) {
    local.first_pair = at;
    at += local.pair_count;
    local.pair_count = 0;
  }
  ticket->pair_count = at;
  for (uint32_t pair = 0; pair < step.ids.size(); ++pair) {
    if (step.ids[pair] == kNoExpert) continue;
    Local& local = locals_[local_of_expert_[step.ids[pair]]];
    ticket->pairs[local.first_pair + local.pair_count++] = pair;
  }
}

// Wave 0 is the hits; then the staged misses, chunk by chunk, in first-appearance order.
void Core::PlanCard(uint32_t card_index, uint32_t ticket_index) {
  Ticket& ticket = tickets_[ticket_index];
  Card& card = cards_[card_index];
  CardCounters& count = counters_.cards[card_index];
  uint32_t first = static_cast<uint32_t>(ticket.units.size());
  for (const Local& local : locals_) {
    if (local.card != card_index) continue;
    ++counters_.distinct_units;
    ++count.requests;
    if (!local.hit) continue;
    ++count.hits;
    const uint32_t index = card.arena->Find(local.unit);
    const Slot& slot = card.arena->slot(index);
    // Not by what lies in the slot: after two changes of mind it may be the same unit's old bytes.
    if (graph_.alive(card.table_op[local.unit])) {
      ++count.hits_late;
      Promote(slot.load);
    }
    const CardSlot place = ArenaPlace(card_index, index);
    Decided(local.unit, Place(place));
    ticket.units.push_back({local.unit, place, local.first_pair, local.pair_count, {}});
  }
  if (ticket.units.size() > first) AddWave(card_index, ticket_index, 0, first);

  uint32_t wave = 1;
  first = static_cast<uint32_t>(ticket.units.size());
  for (const Local& local : locals_) {
    if (local.card != card_index || local.hit || local.on_host) continue;
    ++count.misses;
    const CardSlot place = PlaceMiss(local.unit, card_index);
    ticket.units.push_back({local.unit, place, local.first_pair, local.pair_count, {}});
    if (ticket.units.size() - first == chunk_) {
      AddWave(card_index, ticket_index, wave++, first);
      first = static_cast<uint32_t>(ticket.units.size());
    }
  }
  if (ticket.units.size() > first) AddWave(card_index, ticket_index, wave, first);
}

void Core::AddWave(uint32_t card, uint32_t ticket_index, uint32_t wave, uint32_t first_unit) {
  Ticket& ticket = tickets_[ticket_index];
  const uint32_t index = graph_.Add(OpKind::kWave);
  Op& op = graph_.op(index);
  op.card.card = card;
  op.owner = ticket_index;
  op.wave = wave;
  op.first_unit = first_unit;
  op.unit_count = static_cast<uint32_t>(ticket.units.size()) - first_unit;
  for (uint32_t u = first_unit; u < ticket.units.size(); ++u) {
    graph_.DependOnWrite(index, &CardSlotOf(ticket.units[u].slot).sync);
  }
  ++ticket.waves_left;
  ++counters_.cards[card].waves;
  Decided(wave, ticket.units.size() - first_unit);
  graph_.Release(index);
}

CardSlot Core::PlaceMiss(UnitIndex unit, uint32_t card_index) {
  CardSlot place = TakeAndLoad(unit, card_index, Why::kStep);
  if (place.slot != kNoSlot) return place;
  Card& card = cards_[card_index];
  place = CardSlot{card_index, true, geometry_.class_of(unit), card.ring_next};
  card.ring_next = (card.ring_next + 1) % static_cast<uint32_t>(card.ring.size());
  Slot& slot = CardSlotOf(place);
  slot.unit = unit;
  ++slot.generation;
  ++counters_.cards[card_index].ring_units;
  Load(unit, place, Why::kStep);
  return place;
}

CardSlot Core::TakeAndLoad(UnitIndex unit, uint32_t card_index, Why why) {
  const CardSlot place = TakeArena(unit, card_index, why);
  if (place.slot != kNoSlot) Load(unit, place, why);
  return place;
}

CardSlot Core::TakeArena(UnitIndex unit, uint32_t card_index, Why why) {
  UnitIndex victim = kNoUnit;
  Tier& arena = *cards_[card_index].arena;
  const uint32_t index = why == Why::kHint ? arena.TakeGuess(unit, stamps_, stamp_, &victim)
                                           : arena.Take(unit, stamps_, stamp_, &victim);
  if (index == kNone) return CardSlot{card_index};
  const CardSlot place = ArenaPlace(card_index, index);
  ++counters_.cards[card_index].inserted;
  if (victim != kNoUnit) {
    ++counters_.cards[card_index].evicted;
    Evict(victim, place);
  }
  return place;
}

// The victim has left by decision. Its table entry goes once its readers are done; the slot is free
// for the next bytes once that is known to be applied.
void Core::Evict(UnitIndex victim, const CardSlot& place) {
  Slot& slot = CardSlotOf(place);
  Decided(victim, ~Place(place));
  Promote(slot.load);  // whoever comes now waits for it
  if (options_.host_exclusive && host_ != nullptr && host_->Find(victim) == kNone) {
    const HostSlot to = TakeHost(victim);
    if (to.slot != kNoSlot) {
      const uint32_t index = graph_.Add(OpKind::kCopyBack);
      Op& op = graph_.op(index);
      op.unit = victim;
      op.host = to;
      op.card = place;
      Slot& host_slot = HostSlotOf(to);
      op.slot_generation = host_slot.generation;
      graph_.DependOnWrite(index, &slot.sync);
      graph_.BecomeWriter(index, &host_slot.sync);
      Promote(host_slot.reader);
      host_slot.load = graph_.ref(index);
      ++counters_.host.copied_back;
      ++counters_.cards[place.card].units_d2h;
      counters_.cards[place.card].bytes_d2h += geometry_.payload_bytes(victim);
      graph_.Release(index);
    }
  }
  const uint32_t index = graph_.Add(OpKind::kUnpublish);
  Op& op = graph_.op(index);
  op.unit = victim;
  op.card = place;
  graph_.BecomeWriter(index, &slot.sync);
  cards_[place.card].table_op[victim] = graph_.ref(index);
  graph_.Release(index);
}

void Core::Load(UnitIndex unit, const CardSlot& to, Why why) {
  CopyIn(unit, Source(unit, !to.ring, why), to, why);
}

void Core::CopyIn(UnitIndex unit, const HostSlot& from, const CardSlot& to, Why why) {
  const bool prefetch = why == Why::kHint || why == Why::kBehind;
  Decided(Place(to), Place(from));
  Slot& slot = CardSlotOf(to);
  const uint32_t copy = graph_.Add(OpKind::kCopyUp);
  {
    Op& op = graph_.op(copy);
    op.unit = unit;
    op.host = from;
    op.card = to;
    op.prefetch = prefetch;
    op.slot_generation = slot.generation;
    op.source = HostSlotOf(from).load;
  }
  HostSlotOf(from).reader = graph_.ref(copy);
  graph_.DependOnWrite(copy, &HostSlotOf(from).sync);
  graph_.BecomeWriter(copy, &slot.sync);
  slot.load = graph_.ref(copy);
  CardCounters& count = counters_.cards[to.card];
  ++count.units_h2d;
  (why == Why::kHint     ? count.bytes_h2d_prefetch
   : why == Why::kBehind ? count.bytes_h2d_behind
   : why == Why::kWarm   ? count.bytes_h2d_warm
                         : count.bytes_h2d_demand) += geometry_.payload_bytes(unit);
  if (options_.host_exclusive && !to.ring && !from.staging) {
    // Promotion: the host slot is free once the copy has read it.
    host_->Leave(host_base_[from.size_class] + from.slot);
    ++counters_.host.promoted;
  }
  if (!to.ring) {
    const uint32_t publish = graph_.Add(OpKind::kPublish);
    Op& op = graph_.op(publish);
    op.unit = unit;
    op.card = to;
    op.slot_generation = slot.generation;
    if (BERTH_BROKEN(kPublishAfterCopy)) {
      slot.sync = SlotSync();
    } else {
      graph_.DependOn(publish, graph_.ref(copy), /*data=*/true);
    }
    graph_.BecomeWriter(publish, &slot.sync);
    // A withdrawal of the unit's last place must not undo this.
    OpRef& table_op = cards_[to.card].table_op[unit];
    graph_.DependOn(publish, table_op, /*data=*/false);
    table_op = graph_.ref(publish);
    graph_.Release(publish);
  }
  graph_.Release(copy);
}

}  // namespace berth::scheduler
