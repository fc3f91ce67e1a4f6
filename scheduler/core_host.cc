// Core: misses that the host computes where their bytes lie in RAM.
#include "runtime/base/guards.h"
#include "scheduler/core.h"
#include "scheduler/place.h"

namespace berth::scheduler {

void Core::SplitMisses(const StepSpec& step) {
  split_->BeginStep(step.layer, step.rows);
  for (Card& card : cards_) card.behind_of_step = 0;
  for (Local& local : locals_) {
    if (local.hit) {
      split_->AddHit(local.card, local.pair_count);
      continue;
    }
    local.in_ram = host_ != nullptr && host_->Find(local.unit) != kNone;
    MissedUnit unit;
    unit.card = local.card;
    unit.rows = local.pair_count;
    unit.in_ram = local.in_ram;
    unit.may_host = local.pair_count <= options_.exact_rows;
    split_->AddMiss(unit);
  }
  split_->Decide(options_.miss == CoreOptions::Miss::kAuto);
  const MissedUnit* unit = split_->units().data();
  for (Local& local : locals_) {
    if (!local.hit) local.on_host = (unit++)->on_host;
  }
}

// First what RAM has, chunk by chunk. A unit that must be read is a wave of its own: none waits for
// another's read, and of staging one slot a wave is taken, so that any number of them will do.
void Core::PlanOnHost(uint32_t card_index, uint32_t ticket_index) {
  Ticket& ticket = tickets_[ticket_index];
  uint32_t number = 0;
  for (const bool in_ram : {true, false}) {
    const uint32_t most = in_ram ? chunk_ : 1;
    uint32_t wave = kNone;
    for (const Local& local : locals_) {
      if (local.card != card_index || !local.on_host || local.in_ram != in_ram) continue;
      if (wave == kNone) wave = OpenHostWave(card_index, ticket_index, number++);
      PlaceOnHost(local, wave, &ticket);
      if (++graph_.op(wave).unit_count < most) continue;
      CloseHostWave(wave);
      wave = kNone;
    }
    if (wave != kNone) CloseHostWave(wave);
  }
}

// Held until it is closed, so that it stands among a slot's readers before the next decision. It
// waits for no decision of this step but the read of its one unit, so nothing of the step can wait
// for itself.
uint32_t Core::OpenHostWave(uint32_t card, uint32_t ticket_index, uint32_t number) {
  Ticket& ticket = tickets_[ticket_index];
  const uint32_t index = graph_.Add(OpKind::kHostWave);
  Op& op = graph_.op(index);
  op.card.card = card;
  op.owner = ticket_index;
  op.wave = number;
  op.first_unit = static_cast<uint32_t>(ticket.units.size());
  ++ticket.waves_left;
  ++counters_.cards[card].host_waves;
  return index;
}

void Core::CloseHostWave(uint32_t index) {
  const Op& op = graph_.op(index);
  Decided(~static_cast<uint64_t>(op.wave), op.unit_count);
  graph_.Release(index);
}

void Core::PlaceOnHost(const Local& local, uint32_t wave, Ticket* ticket) {
  Card& card = cards_[local.card];
  CardCounters& count = counters_.cards[local.card];
  ++count.misses;
  ++count.host_computed;
  const CardSlot keep = TakeBehind(local.unit, local.card);
  const bool kept = keep.slot != kNoSlot;
  const HostSlot from = Source(local.unit, kept, Why::kStep);
  Decided(local.unit, Place(from));
  SlotSync* sync = &HostSlotOf(from).sync;
  if (BERTH_BROKEN(kComputeAfterRead)) {
    SlotSync nobody_writes{OpRef(), sync->first_reader};
    graph_.DependOnWrite(wave, &nobody_writes);
    sync->first_reader = nobody_writes.first_reader;
  } else if (BERTH_BROKEN(kKeepWhileComputed)) {
    graph_.DependOn(wave, sync->last_write, /*data=*/true);
  } else {
    graph_.DependOnWrite(wave, sync);
  }
  ticket->units.push_back(
      {local.unit, CardSlot{local.card}, local.first_pair, local.pair_count, from});
  if (!kept) return;
  OpRef& place = card.behind[card.behind_next];
  card.behind_next = (card.behind_next + 1) % static_cast<uint32_t>(card.behind.size());
  Promote(place);
  graph_.DependOn(wave, place, /*data=*/false);
  CopyIn(local.unit, from, keep, Why::kBehind);
  place = CardSlotOf(keep).load;
}

// A slot of the arena, where the policy admits the unit and its load would be over in time.
CardSlot Core::TakeBehind(UnitIndex unit, uint32_t card_index) {
  // Loads that may still be under way when the next step begins. With none, a machine whose link
  // takes longer for a unit than a step lasts would never load any; with more than one, what auto
  // stages would wait for them.
  constexpr uint32_t kHostSlack = 4, kAutoSlack = 1;
  Card& card = cards_[card_index];
  CardCounters& count = counters_.cards[card_index];
  const uint32_t slack = options_.miss == CoreOptions::Miss::kHost ? kHostSlack : kAutoSlack;
  // Never so many that a load would take the place of another of the same step.
  if (card.behind_of_step == card.behind.size() || !split_->HasRoom(card_index, slack)) {
    ++count.behind_dropped;
    return CardSlot{card_index};
  }
  const CardSlot place = TakeArena(unit, card_index, Why::kBehind);
  if (place.slot == kNoSlot) return place;
  ++card.behind_of_step;
  ++count.behind_loads;
  split_->AddLoad(card_index, geometry_.layer_of(unit));
  return place;
}

}  // namespace berth::scheduler
