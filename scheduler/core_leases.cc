// Core: hints and leases, which load units outside a step.
#include <algorithm>
#include <string>

#include "runtime/base/check.h"
#include "scheduler/core.h"

namespace berth::scheduler {

Status Core::SubmitHint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) {
  if (closing_) return FailedPreconditionError("the runtime is closed");
  if (layer >= geometry_.layers) {
    return OutOfRangeError("hint for layer " + std::to_string(layer) + " of " +
                           std::to_string(geometry_.layers));
  }
  for (int32_t id : experts) {
    if (id != kNoExpert && (id < 0 || static_cast<uint32_t>(id) >= geometry_.experts)) {
      return OutOfRangeError("hint for expert " + std::to_string(id) + " of " +
                             std::to_string(geometry_.experts));
    }
  }
  BeginStep(layer, std::max(pass, pass_), /*sweep=*/false);
  for (int32_t id : experts) {
    if (id != kNoExpert) stamps_[layer * geometry_.experts + id] = stamp_;
  }
  for (int32_t id : experts) {
    if (id == kNoExpert) continue;
    const UnitIndex unit = layer * geometry_.experts + id;
    const uint32_t card = CardOf(unit);
    CardCounters& count = counters_.cards[card];
    if (cards_[card].arena->Find(unit) != kNone) {
      ++count.prefetch_resident;
    } else if (cards_[card].arena->guesses() >= options_.max_prefetch_units ||
               TakeAndLoad(unit, card, Why::kHint).slot == kNoSlot) {
      ++count.prefetch_dropped;
    } else {
      ++count.prefetch_admitted;
      if (split_ != nullptr) split_->AddLoad(card, layer);
    }
  }
  CountGuesses();
  return Status();
}

// Wherever guesses may have ended: at a touch, or by leaving.
void Core::CountGuesses() {
  for (size_t c = 0; c < cards_.size(); ++c) {
    const Tier& arena = *cards_[c].arena;
    CardCounters& count = counters_.cards[c];
    count.prefetch_used = arena.guesses_used();
    count.prefetch_wasted = arena.guesses_wasted();
    count.prefetch_unused = arena.guesses();
    count.bytes_prefetch_wasted = arena.guess_bytes_wasted();
  }
}

Status Core::CheckLease(std::span<const UnitIndex> units) {
  if (closing_) return FailedPreconditionError("the runtime is closed");
  if (units.empty() || units.size() > options_.max_lease_units) {
    return InvalidArgumentError("a lease holds 1 to " + std::to_string(options_.max_lease_units) +
                                " units, asked for " + std::to_string(units.size()));
  }
  if (free_leases_.empty()) {
    return ResourceExhaustedError("max_leases = " + std::to_string(options_.max_leases) +
                                  " leases are held or still loading: release one");
  }
  if (lease_units_ + units.size() > uint64_t{2} * options_.max_lease_units) {
    return ResourceExhaustedError(
        "leases of " + std::to_string(lease_units_) + " units are still loading, and " +
        std::to_string(2 * options_.max_lease_units) + " may at once: wait until one is ready");
  }
  ++stamp_;
  for (UnitIndex unit : units) {
    if (unit >= geometry_.units()) {
      return OutOfRangeError("lease of unit " + std::to_string(unit) + " of " +
                             std::to_string(geometry_.units()));
    }
    if (stamps_[unit] == stamp_) {
      return InvalidArgumentError("a lease names unit " + std::to_string(unit) + " twice");
    }
    stamps_[unit] = stamp_;
  }
  return Status();
}

// Finds or makes each unit's place and pins it. Not ok: pinned are those that stand in the lease.
Status Core::PinUnits(std::span<const UnitIndex> units, Lease* lease) {
  const uint32_t keep = 3 * geometry_.top_k;
  for (UnitIndex unit : units) {
    const uint32_t card = CardOf(unit);
    const uint32_t layer = geometry_.layer_of(unit);
    Tier& arena = *cards_[card].arena;
    arena.BeginStep(layer, pass_, /*sweep=*/false);
    if (host_ != nullptr) host_->BeginStep(layer, pass_, /*sweep=*/false);
    uint32_t index = arena.Find(unit);
    const bool pinned_already = index != kNone && arena.slot(index).pins > 0;
    if (!pinned_already && arena.pins(layer) + 1 + keep > arena.pool_slots(layer)) {
      return ResourceExhaustedError("a lease of " + std::to_string(units.size()) +
                                    " units would leave fewer than " + std::to_string(keep) +
                                    " (3 x top-k) of " + std::to_string(arena.pool_slots(layer)) +
                                    " slots unpinned: release leases or raise --arena");
    }
    if (index == kNone) {
      if (TakeAndLoad(unit, card, Why::kLease).slot == kNoSlot) {
        return ResourceExhaustedError("no slot may leave for unit " + std::to_string(unit) +
                                      " of a lease: release leases or raise --arena");
      }
      ++counters_.cards[card].lease_loads;
      index = arena.Find(unit);
    } else {
      Promote(arena.slot(index).load);
    }
    arena.Pin(index);
    lease->slots.push_back({card, index});
  }
  return Status();
}

void Core::UnpinUnits(Lease* lease) {
  for (const LeasedSlot& s : lease->slots) cards_[s.card].arena->Unpin(s.slot);
  lease->slots.clear();
}

// A lease that is refused ends like one that is released at once: what it began to load takes its
// place until it is over, so that what leases have under way stays bounded.
Result<LeaseId> Core::SubmitLease(std::span<const UnitIndex> units, uint64_t cookie) {
  BERTH_RETURN_IF_ERROR(CheckLease(units));
  const uint32_t index = free_leases_.back();
  free_leases_.pop_back();
  Lease& lease = leases_[index];
  ++lease.generation;
  lease.slots.clear();
  lease.cookie = cookie;
  lease.live = true;
  lease.waiting = true;
  const Status status = PinUnits(units, &lease);
  CountGuesses();
  lease.units = static_cast<uint32_t>(lease.slots.size());
  lease_units_ += lease.units;
  lease.released = !status.ok();
  ++(status.ok() ? counters_.leases : counters_.leases_refused);
  const LeaseId id = (static_cast<uint64_t>(lease.generation) << 32) | index;
  const uint32_t op = graph_.Add(OpKind::kLease);
  graph_.op(op).owner = index;
  for (const LeasedSlot& s : lease.slots) {
    graph_.DependOnWrite(op, &cards_[s.card].arena->slot(s.slot).sync);
  }
  if (!status.ok()) UnpinUnits(&lease);
  graph_.Release(op);
  if (!status.ok()) return status;
  return id;
}

Status Core::ReleaseLease(LeaseId id) {
  const uint32_t index = static_cast<uint32_t>(id);
  if (index >= leases_.size() || !leases_[index].live || leases_[index].released ||
      leases_[index].generation != static_cast<uint32_t>(id >> 32)) {
    return FailedPreconditionError("this lease is not held");
  }
  Lease& lease = leases_[index];
  UnpinUnits(&lease);
  lease.released = true;
  if (!lease.waiting) FreeLease(index);
  return Status();
}

void Core::FreeLease(uint32_t index) {
  leases_[index].live = false;
  free_leases_.push_back(index);
}

}  // namespace berth::scheduler
