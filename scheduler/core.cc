#include "scheduler/core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace berth::scheduler {
namespace {

std::vector<uint32_t> Bases(const std::vector<uint32_t>& class_slots) {
  std::vector<uint32_t> bases;
  uint32_t at = 0;
  for (uint32_t slots : class_slots) {
    bases.push_back(at);
    at += slots;
  }
  return bases;
}

Status CheckGeometry(const Geometry& g) {
  const auto bad = [](const std::string& what) {
    return InvalidArgumentError("geometry: " + what);
  };
  if (g.layers == 0 || g.experts == 0 || g.top_k == 0) return bad("no layers, experts or top-k");
  if (g.drives == 0) return bad("no drive");
  if (g.top_k > g.experts) return bad("top-k is larger than the number of experts");
  if (g.layer_class.size() != g.layers || g.layer_payload_bytes.size() != g.layers ||
      g.layer_extents.size() != g.layers) {
    return bad("one entry per layer is needed");
  }
  if (g.extent_read_bytes.size() != static_cast<size_t>(g.units()) * g.max_extents) {
    return bad("read sizes: one entry per unit and extent is needed");
  }
  for (uint32_t l = 0; l < g.layers; ++l) {
    if (g.layer_class[l] >= g.size_classes) return bad("size class out of range");
    if (g.layer_extents[l] == 0 || g.layer_extents[l] > g.max_extents || g.max_extents > 8) {
      return bad("extents out of range");
    }
  }
  for (UnitIndex u = 0; u < g.units(); ++u) {
    if (g.read_bytes(u) < g.payload_bytes(u)) {
      return bad("the reads of unit " + std::to_string(u) + " are shorter than the unit");
    }
  }
  if (!g.unit_drive.empty() && g.unit_drive.size() != g.units()) {
    return bad("drives: one per unit is needed");
  }
  for (uint8_t drive : g.unit_drive) {
    if (drive >= g.drives) return bad("drive out of range");
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<Core>> Core::Create(CoreOptions options, Sink* sink) {
  BERTH_RETURN_IF_ERROR(CheckGeometry(options.geometry));
  std::unique_ptr<Core> core(new Core(std::move(options), sink));
  BERTH_RETURN_IF_ERROR(core->Init());
  return core;
}

uint32_t Core::MaxLiveUnits(const CoreOptions& o) {
  const uint64_t step_units =
      std::min<uint64_t>(o.geometry.experts, static_cast<uint64_t>(o.max_rows) * o.geometry.top_k);
  const uint64_t units = step_units * o.max_tickets + 2ull * o.max_prefetch_units * o.max_tickets +
                         static_cast<uint64_t>(o.max_lease_units) * 2 +
                         (o.miss == CoreOptions::Miss::kStage ? 0 : o.max_behind * o.cards.size());
  return static_cast<uint32_t>(std::min<uint64_t>(units, 4ull * o.geometry.units() + 4096));
}

// Per unit: read, copy, publish, copy back, unpublish, and a wave of its own where the host may
// compute it; each with an edge or two, a reader entry and its share of a wave.
uint32_t Core::GraphOps(const CoreOptions& o) {
  return (o.miss == CoreOptions::Miss::kStage ? 5 : 6) * MaxLiveUnits(o) + 1024;
}
uint32_t Core::GraphEdges(const CoreOptions& o) { return 16 * MaxLiveUnits(o) + 4096; }

Core::Core(CoreOptions options, Sink* sink)
    : options_(std::move(options)),
      geometry_(options_.geometry),
      sink_(sink),
      graph_(GraphOps(options_), GraphEdges(options_), this) {}

Status Core::Init() {
  const Geometry& g = geometry_;
  if (options_.cards.empty()) return InvalidArgumentError("no card: at least one is needed");
  if (options_.max_tickets == 0 || options_.max_rows == 0) {
    return InvalidArgumentError("max_tickets and max_rows must be at least 1");
  }
  if (!options_.card_of_unit.empty() && options_.card_of_unit.size() != g.units()) {
    return InvalidArgumentError("placement: one card per unit is needed");
  }
  for (uint8_t card : options_.card_of_unit) {
    if (card >= options_.cards.size()) return InvalidArgumentError("placement: no such card");
  }
  if (options_.staging_slots == 0 || options_.prefetch_staging_slots == 0) {
    return InvalidArgumentError("staging: at least one slot for demand and one for prefetch");
  }
  if (!(options_.sweep_share >= 0 && options_.sweep_share <= 1)) {
    return InvalidArgumentError("sweep_share must be 0 to 1");
  }
  if (!options_.heat.empty() && options_.heat.size() != g.units()) {
    return InvalidArgumentError("profile: one heat per unit is needed, " +
                                std::to_string(g.units()) + ", and got " +
                                std::to_string(options_.heat.size()));
  }
  if (!options_.next_use.empty() && options_.next_use.size() != g.units()) {
    return InvalidArgumentError("next uses: one per unit is needed, " + std::to_string(g.units()) +
                                ", and got " + std::to_string(options_.next_use.size()));
  }
  BERTH_RETURN_IF_ERROR(InitCards());
  BERTH_RETURN_IF_ERROR(InitHost());
  BERTH_RETURN_IF_ERROR(InitMisses());
  staging_.resize(options_.staging_slots + options_.prefetch_staging_slots);
  for (uint32_t d = 0; d < g.drives; ++d) {
    reads_.emplace_back(options_.read_bytes_in_flight, options_.prefetch_read_bytes_in_flight,
                        options_.max_reads);
  }
  const uint64_t pairs = static_cast<uint64_t>(options_.max_rows) * g.top_k;
  const size_t step_units = std::min<uint64_t>(pairs, g.experts);
  tickets_.resize(options_.max_tickets);
  for (uint32_t t = options_.max_tickets; t > 0; --t) {
    tickets_[t - 1].pairs.resize(pairs);
    tickets_[t - 1].units.reserve(step_units);
    free_tickets_.push_back(t - 1);
  }
  leases_.resize(options_.max_leases);
  for (uint32_t l = options_.max_leases; l > 0; --l) {
    leases_[l - 1].slots.reserve(options_.max_lease_units);
    free_leases_.push_back(l - 1);
  }
  locals_.reserve(step_units);
  local_of_expert_.resize(g.experts);
  expert_stamp_.assign(g.experts, 0);
  stamps_.assign(g.units(), 0);
  counters_.cards.resize(cards_.size());
  return Status();
}

Status Core::InitCards() {
  const Geometry& g = geometry_;
  chunk_ = std::max<uint32_t>(1, options_.chunk);
  CoreOptions::Sharing sharing = options_.sharing;
  for (uint32_t c = 0; c < options_.cards.size(); ++c) {
    const CardOptions& card = options_.cards[c];
    if (card.class_slots.size() != g.size_classes) {
      return InvalidArgumentError("card " + std::to_string(c) +
                                  ": slots for every size class are needed");
    }
    if (card.ring_slots == 0) return InvalidArgumentError("a ring of at least one unit is needed");
    chunk_ = std::min(chunk_, card.ring_slots);
    std::vector<uint64_t> class_units(g.size_classes, 0);
    for (UnitIndex u = 0; u < g.units(); ++u) {
      if (CardOf(u) == c) ++class_units[g.class_of(u)];
    }
    for (uint32_t k = 0; k < g.size_classes; ++k) {
      const uint64_t least = std::min<uint64_t>(3ull * g.top_k, class_units[k]);
      if (card.class_slots[k] < least) {
        return InvalidArgumentError("card " + std::to_string(c) + ": " +
                                    std::to_string(card.class_slots[k]) + " slots for size class " +
                                    std::to_string(k) + ", at least " + std::to_string(least) +
                                    " (3 x top-k) are needed");
      }
    }
    NoteCliff(c, card, class_units, &sharing);
  }
  if (chunk_ < options_.chunk) {
    notes_.push_back("chunk lowered from " + std::to_string(options_.chunk) + " to the ring's " +
                     std::to_string(chunk_) + " units");
  }
  for (uint32_t c = 0; c < options_.cards.size(); ++c) {
    TierOptions tier;
    tier.name = "card " + std::to_string(c);
    tier.class_slots = options_.cards[c].class_slots;
    tier.sharing =
        sharing == CoreOptions::Sharing::kPerLayer ? SlotSharing::kPerLayer : SlotSharing::kShared;
    tier.policy = options_.policy;
    tier.sweep_share = options_.sweep_share;
    tier.seed = options_.seed + 1000 * c;
    tier.heat = options_.heat;
    tier.next_use = options_.next_use;
    for (UnitIndex u = 0; u < tier.heat.size(); ++u) {
      if (CardOf(u) != c) tier.heat[u] = 0;  // never comes here
    }
    Card made;
    BERTH_ASSIGN_OR_RETURN(made.arena, Tier::Create(g, tier));
    made.base = Bases(tier.class_slots);
    made.ring.resize(options_.cards[c].ring_slots);
    made.table_op.resize(g.units());
    made.copies = std::make_unique<TransferQueue>(
        options_.copy_bytes_in_flight, options_.prefetch_copy_bytes_in_flight, options_.max_copies);
    for (std::string& note : made.arena->Notes()) {
      notes_.push_back(tier.name + ": " + std::move(note));
    }
    cards_.push_back(std::move(made));
  }
  return Status();
}

// Counts that survive eviction stand the cliff, and so does who knows whose turn is near; recency
// does not.
bool Core::StandsCliff() const {
  return options_.policy.starts_with("lfu") || options_.policy.starts_with("hazard") ||
         options_.policy.starts_with("belady");
}

// One global order smaller than one token's cycle hits nothing: what a step needs next is always
// what left last.
void Core::NoteCliff(uint32_t card, const CardOptions& card_options,
                     const std::vector<uint64_t>& class_units, CoreOptions::Sharing* sharing) {
  if (options_.sharing == CoreOptions::Sharing::kPerLayer) return;
  for (uint32_t k = 0; k < geometry_.size_classes; ++k) {
    const uint64_t class_layers =
        std::count(geometry_.layer_class.begin(), geometry_.layer_class.end(), k);
    // Of a card that has few units, or none, all may be there.
    const uint64_t cycle =
        std::min<uint64_t>(class_layers * geometry_.top_k / options_.cards.size(), class_units[k]);
    if (card_options.class_slots[k] >= cycle) continue;
    const bool open = options_.sharing == CoreOptions::Sharing::kAuto && !StandsCliff();
    if (open) *sharing = CoreOptions::Sharing::kPerLayer;
    notes_.push_back("card " + std::to_string(card) + ": " +
                     std::to_string(card_options.class_slots[k]) + " slots of size class " +
                     std::to_string(k) + " are fewer than one token's " + std::to_string(cycle) +
                     " units (layers x top-k): " +
                     (open ? "each layer has its own quota" : "hits will be few, raise --arena"));
  }
}

Status Core::InitHost() {
  const auto& slots = options_.host_class_slots;
  if (std::all_of(slots.begin(), slots.end(), [](uint32_t s) { return s == 0; })) return Status();
  if (slots.size() != geometry_.size_classes) {
    return InvalidArgumentError("host tier: slots for every size class are needed");
  }
  TierOptions tier;
  tier.name = "host tier";
  tier.class_slots = slots;
  tier.policy = options_.host_policy;
  tier.sweep_share = options_.sweep_share;
  tier.seed = options_.seed + 999983;
  tier.heat = options_.heat;
  tier.next_use = options_.next_use;
  BERTH_ASSIGN_OR_RETURN(host_, Tier::Create(geometry_, tier));
  host_base_ = Bases(slots);
  for (std::string& note : host_->Notes()) notes_.push_back(tier.name + ": " + std::move(note));
  return Status();
}

Status Core::InitMisses() {
  if (options_.miss == CoreOptions::Miss::kStage) return Status();
  const Geometry& g = geometry_;
  const MissCosts& costs = options_.miss_costs;
  if (options_.exact_rows == 0 || options_.max_behind == 0) {
    return InvalidArgumentError("exact_rows and max_behind must be at least 1");
  }
  if (costs.empty() && options_.miss == CoreOptions::Miss::kAuto) {
    return InvalidArgumentError("misses are to be split by cost, and no costs are known");
  }
  const size_t by_rows = static_cast<size_t>(g.layers) * costs.rows;
  bool whole =
      costs.empty() || (costs.rows == options_.exact_rows && costs.cards.size() == cards_.size() &&
                        costs.host.size() == by_rows && costs.read.size() == g.layers);
  if (whole && !costs.empty()) {
    for (const CardMissCosts& card : costs.cards) {
      whole = whole && card.copy.size() == g.layers && card.call.size() == g.layers &&
              card.unit.size() == by_rows;
    }
  }
  if (!whole) return InvalidArgumentError("costs of misses: every layer, card and row is needed");
  const uint64_t pairs = static_cast<uint64_t>(options_.max_rows) * g.top_k;
  split_ = std::make_unique<MissSplit>(&costs, static_cast<uint32_t>(cards_.size()), chunk_,
                                       static_cast<uint32_t>(std::min<uint64_t>(pairs, g.experts)));
  for (Card& card : cards_) card.behind.resize(options_.max_behind);
  return Status();
}

CardSlot Core::Find(UnitIndex unit) const {
  const uint32_t card = CardOf(unit);
  const uint32_t index = cards_[card].arena->Find(unit);
  return index == kNone ? CardSlot{card} : ArenaPlace(card, index);
}

uint64_t Core::resident_bytes() const {
  const Geometry& g = geometry_;
  uint64_t bytes = graph_.resident_bytes() + stamps_.capacity() * sizeof(uint64_t) +
                   g.extent_read_bytes.capacity() * sizeof(uint32_t) + g.unit_drive.capacity() +
                   options_.card_of_unit.capacity() + options_.heat.capacity() * sizeof(double) +
                   staging_.capacity() * sizeof(Slot) + locals_.capacity() * sizeof(Local) +
                   g.experts * (sizeof(uint32_t) + sizeof(uint64_t));
  for (const Card& card : cards_) {
    bytes += card.arena->resident_bytes() + card.table_op.capacity() * sizeof(OpRef) +
             card.ring.capacity() * sizeof(Slot);
  }
  if (host_ != nullptr) bytes += host_->resident_bytes();
  for (const Ticket& ticket : tickets_) {
    bytes +=
        ticket.pairs.capacity() * sizeof(uint32_t) + ticket.units.capacity() * sizeof(WaveUnit);
  }
  for (const Lease& lease : leases_) bytes += lease.slots.capacity() * sizeof(LeasedSlot);
  return bytes;
}

uint64_t Core::PlannedBytes(const CoreOptions& o) {
  const Geometry& g = o.geometry;
  const uint64_t pairs = static_cast<uint64_t>(o.max_rows) * g.top_k;
  const uint64_t tickets =
      o.max_tickets *
      (pairs * sizeof(uint32_t) + std::min<uint64_t>(pairs, g.experts) * sizeof(WaveUnit));
  // Slots are at most as many as units, a tier a card and one for the host; a policy keeps some
  // tens of bytes a unit, and there may be one for each layer.
  const uint64_t tiers =
      (o.cards.size() + 2) * (g.units() * (sizeof(Slot) + 64) + g.layers * kPolicyTableBytes);
  return OpGraph::PlannedBytes(GraphOps(o), GraphEdges(o)) + tickets + tiers +
         static_cast<uint64_t>(o.max_leases) * o.max_lease_units * sizeof(LeasedSlot);
}

HostSlot Core::HostPlace(uint32_t index) const {
  const Slot& slot = host_->slot(index);
  return {false, slot.size_class, slot.local};
}

CardSlot Core::ArenaPlace(uint32_t card, uint32_t index) const {
  const Slot& slot = cards_[card].arena->slot(index);
  return {card, false, slot.size_class, slot.local};
}

Slot& Core::HostSlotOf(const HostSlot& place) {
  if (place.staging) return staging_[place.slot];
  return host_->slot(host_base_[place.size_class] + place.slot);
}

Slot& Core::CardSlotOf(const CardSlot& place) {
  Card& card = cards_[place.card];
  if (place.ring) return card.ring[place.slot];
  return card.arena->slot(card.base[place.size_class] + place.slot);
}

Status Core::CheckInvariants() const {
  BERTH_RETURN_IF_ERROR(CheckBalance(counters_));
  for (const Card& card : cards_) {
    BERTH_RETURN_IF_ERROR(card.arena->CheckInvariants());
    for (uint32_t s = 0; s < card.arena->slot_count(); ++s) {
      const Slot& slot = card.arena->slot(s);
      if (slot.state == SlotState::kResident && slot.holds == kNoUnit) {
        return InternalError("a published slot holds nothing");
      }
    }
  }
  if (host_ != nullptr) BERTH_RETURN_IF_ERROR(host_->CheckInvariants());
  if (!idle()) return Status();
  for (const TransferQueue& queue : reads_) {
    if (queue.in_flight() != 0 || queue.first() != kNone) return InternalError("a read was lost");
  }
  for (const Card& card : cards_) {
    if (card.copies->in_flight() != 0 || card.copies->first() != kNone) {
      return InternalError("a copy was lost");
    }
  }
  if (free_tickets_.size() != tickets_.size()) return InternalError("a ticket was lost");
  return Status();
}

}  // namespace berth::scheduler
