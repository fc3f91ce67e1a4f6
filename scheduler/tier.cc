#include "scheduler/tier.h"

#include <algorithm>
#include <span>

#include "runtime/base/check.h"
#include "runtime/base/guards.h"
#include "runtime/base/quota.h"

namespace berth::scheduler {
namespace {

// What may leave: no unit of the step at hand, nothing pinned, no guess whose step is still to
// come, and for a hint no guess at all.
class NotOfStep final : public policies::Evictable {
 public:
  NotOfStep(const Tier& tier, const std::vector<uint64_t>& stamps, uint64_t stamp, bool guesses)
      : tier_(tier), stamps_(stamps), stamp_(stamp), guesses_(guesses) {}
  bool operator()(UnitIndex unit) const override {
    if (stamps_[unit] == stamp_ && !BERTH_BROKEN(kKeepOwnUnits)) return false;
    const Slot& slot = tier_.slot(tier_.Find(unit));
    if (slot.pins > 0 && !BERTH_BROKEN(kKeepLeased)) return false;
    return guesses_ ? !tier_.Awaited(slot) : !slot.guess;
  }

 private:
  const Tier& tier_;
  const std::vector<uint64_t>& stamps_;
  const uint64_t stamp_;
  const bool guesses_;  // may leave as well
};

}  // namespace

Result<std::unique_ptr<Tier>> Tier::Create(const Geometry& geometry, const TierOptions& options) {
  std::unique_ptr<Tier> tier(new Tier());
  tier->experts_ = geometry.experts;
  tier->layer_steps_.assign(geometry.layers, 0);
  tier->layer_payload_bytes_ = geometry.layer_payload_bytes;
  tier->slot_of_unit_.assign(geometry.units(), kNone);
  tier->pool_of_layer_.assign(geometry.layers, kNone);
  uint32_t first_slot = 0;
  for (uint32_t c = 0; c < geometry.size_classes; ++c) {
    std::vector<uint32_t> layers;
    for (uint32_t l = 0; l < geometry.layers; ++l) {
      if (geometry.layer_class[l] == c) layers.push_back(l);
    }
    const uint32_t slots = options.class_slots[c];
    tier->slots_.resize(first_slot + slots);
    for (uint32_t s = 0; s < slots; ++s) {
      tier->slots_[first_slot + s].size_class = c;
      tier->slots_[first_slot + s].local = s;
    }
    if (slots > 0 && !layers.empty()) {
      if (options.sharing == SlotSharing::kShared) {
        const uint32_t pool = static_cast<uint32_t>(tier->pools_.size());
        for (uint32_t l : layers) tier->pool_of_layer_[l] = pool;
        BERTH_RETURN_IF_ERROR(tier->AddPool(geometry, options, c, layers.front(), layers.back() + 1,
                                            first_slot, slots));
      } else {
        const uint32_t count = static_cast<uint32_t>(layers.size());
        uint32_t at = first_slot;
        for (uint32_t i = 0; i < count; ++i) {
          const uint32_t quota = EqualQuota(slots, count, i);
          if (quota == 0) continue;
          tier->pool_of_layer_[layers[i]] = static_cast<uint32_t>(tier->pools_.size());
          BERTH_RETURN_IF_ERROR(
              tier->AddPool(geometry, options, c, layers[i], layers[i] + 1, at, quota));
          at += quota;
        }
      }
    }
    first_slot += slots;
  }
  tier->pinned_.assign(tier->pools_.size(), 0);
  return tier;
}

Status Tier::AddPool(const Geometry& geometry, const TierOptions& options, uint32_t size_class,
                     uint32_t first_layer, uint32_t end_layer, uint32_t first_slot,
                     uint32_t slots) {
  policies::PolicyOptions policy;
  policy.first_unit = first_layer * geometry.experts;
  policy.units = (end_layer - first_layer) * geometry.experts;
  policy.slots = slots;
  policy.top_k = geometry.top_k;
  policy.seed = options.seed + pools_.size();
  // Layers of other classes between the pool's own are not its business: their heat would take
  // pins that nobody fills.
  std::vector<double> heat;
  if (!options.heat.empty()) {
    const auto first = options.heat.begin() + policy.first_unit;
    heat.assign(first, first + policy.units);
    for (uint32_t u = 0; u < policy.units; ++u) {
      if (geometry.class_of(policy.first_unit + u) != size_class) heat[u] = 0;
    }
    policy.heat = heat;
  }
  if (!options.next_use.empty()) {
    policy.next_use = options.next_use.subspan(policy.first_unit, policy.units);
  }
  Pool pool;
  BERTH_ASSIGN_OR_RETURN(pool.policy, policies::MakePolicy(options.policy, policy));
  pool.slots = slots;
  pool.first_unit = policy.first_unit;
  pool.range_units = policy.units;
  pool.sweep_limit = std::max<uint32_t>(
      1, static_cast<uint32_t>(options.sweep_share * static_cast<double>(slots)));
  pool.free.reserve(slots);
  for (uint32_t s = slots; s > 0; --s) {
    pool.free.push_back(first_slot + s - 1);
    slots_[first_slot + s - 1].pool = static_cast<uint32_t>(pools_.size());
    BERTH_CHECK(slots_[first_slot + s - 1].size_class == size_class);
  }
  pools_.push_back(std::move(pool));
  return Status();
}

void Tier::BeginStep(uint32_t layer, uint64_t pass, bool sweep) {
  sweep_step_ = sweep;
  pass_ = pass;
  if (const uint32_t pool = pool_of_layer_[layer]; pool != kNone) {
    pools_[pool].policy->BeginStep(pass);
  }
}

void Tier::Touch(UnitIndex unit, uint32_t rows) {
  const uint32_t pool_index = pool_of_layer_[unit / experts_];
  if (pool_index == kNone) return;
  Pool& pool = pools_[pool_index];
  const uint32_t index = slot_of_unit_[unit];
  pool.policy->Touched(unit, index != kNone, rows);
  if (index == kNone) return;
  EndGuess(&slots_[index], /*used=*/true);
  if (!slots_[index].sweep) return;
  UnlinkSweep(&pool, index);
  if (sweep_step_) LinkSweep(&pool, index);  // to the end of the line
}

uint32_t Tier::Take(UnitIndex unit, const std::vector<uint64_t>& stamps, uint64_t stamp,
                    UnitIndex* victim) {
  return TakeFor(unit, NotOfStep(*this, stamps, stamp, /*guesses=*/true), victim);
}

uint32_t Tier::TakeGuess(UnitIndex unit, const std::vector<uint64_t>& stamps, uint64_t stamp,
                         UnitIndex* victim) {
  const uint32_t index = TakeFor(unit, NotOfStep(*this, stamps, stamp, /*guesses=*/false), victim);
  if (index != kNone) {
    Slot& slot = slots_[index];
    slot.guess = true;
    slot.guess_pass = pass_;
    slot.guess_step = layer_steps_[unit / experts_];
    ++guesses_;
    ++pools_[slot.pool].guesses;
  }
  return index;
}

uint32_t Tier::TakeFor(UnitIndex unit, const policies::Evictable& evictable, UnitIndex* victim) {
  *victim = kNoUnit;
  const uint32_t pool_index = pool_of_layer_[unit / experts_];
  if (pool_index == kNone) return kNone;
  Pool& pool = pools_[pool_index];
  if (!pool.policy->Admit(unit)) return kNone;
  if (pool.free.empty()) {
    uint32_t leaving = SweepVictim(pool, evictable);
    if (leaving == kNone && (!sweep_step_ || pool.sweep_count < pool.sweep_limit)) {
      const UnitIndex chosen = pool.policy->NextVictim(evictable);
      if (chosen != kNoUnit) leaving = slot_of_unit_[chosen];
    }
    if (leaving == kNone) return kNone;
    *victim = slots_[leaving].unit;
    BERTH_CHECK(evictable(*victim));
    Leave(leaving);
  }
  const uint32_t index = Place(unit, &pool);
  if (sweep_step_) LinkSweep(&pool, index);
  return index;
}

// Puts the unit into the next free slot.
uint32_t Tier::Place(UnitIndex unit, Pool* pool) {
  const uint32_t index = pool->free.back();
  pool->free.pop_back();
  Slot& slot = slots_[index];
  slot.unit = unit;
  ++slot.generation;
  slot_of_unit_[unit] = index;
  ++resident_;
  pool->policy->Inserted(unit);
  return index;
}

void Tier::Leave(uint32_t index) {
  Slot& slot = slots_[index];
  BERTH_CHECK(slot.unit != kNoUnit && slot_of_unit_[slot.unit] == index);
  Pool& pool = pools_[slot.pool];
  if (slot.sweep) UnlinkSweep(&pool, index);
  EndGuess(&slot, /*used=*/false);
  pool.policy->Erased(slot.unit);
  slot_of_unit_[slot.unit] = kNone;
  slot.unit = kNoUnit;
  pool.free.push_back(index);
  --resident_;
}

void Tier::Retire(uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.retired) return;
  if (slot.unit != kNoUnit) Leave(index);
  Pool& pool = pools_[slot.pool];
  std::erase(pool.free, index);
  --pool.slots;
  slot.retired = true;
}

void Tier::EndGuess(Slot* slot, bool used) {
  if (!slot->guess) return;
  slot->guess = false;
  --guesses_;
  --pools_[slot->pool].guesses;
  ++(used ? guesses_used_ : guesses_wasted_);
  if (!used) guess_bytes_wasted_ += layer_payload_bytes_[slot->unit / experts_];
}

void Tier::LinkSweep(Pool* pool, uint32_t index) {
  Slot& slot = slots_[index];
  slot.sweep = true;
  slot.sweep_previous = pool->sweep_last;
  slot.sweep_next = kNone;
  (pool->sweep_last == kNone ? pool->sweep_first : slots_[pool->sweep_last].sweep_next) = index;
  pool->sweep_last = index;
  ++pool->sweep_count;
}

void Tier::UnlinkSweep(Pool* pool, uint32_t index) {
  Slot& slot = slots_[index];
  (slot.sweep_previous == kNone ? pool->sweep_first : slots_[slot.sweep_previous].sweep_next) =
      slot.sweep_next;
  (slot.sweep_next == kNone ? pool->sweep_last : slots_[slot.sweep_next].sweep_previous) =
      slot.sweep_previous;
  slot.sweep = false;
  --pool->sweep_count;
}

// The oldest of the line that may leave. A sweep's own units were moved to the end when they were
// touched, so the search ends at the first of them; a decode step has none in the line. What is
// passed over is pinned, or named by the hint or lease at hand.
uint32_t Tier::SweepVictim(const Pool& pool, const policies::Evictable& evictable) const {
  for (uint32_t s = pool.sweep_first; s != kNone; s = slots_[s].sweep_next) {
    if (evictable(slots_[s].unit)) return s;
    if (sweep_step_ && slots_[s].pins == 0) break;
  }
  return kNone;
}

Status Tier::CheckInvariants() const {
  const auto off = [](const char* what) { return InternalError(std::string("tier: ") + what); };
  std::vector<uint32_t> taken(pools_.size()), pinned(pools_.size()), swept(pools_.size()),
      guessed(pools_.size());
  uint32_t decided = 0, guesses = 0;
  for (uint32_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.pins > 0) ++pinned[slot.pool];
    if (slot.unit == kNoUnit) {
      if (slot.sweep) return off("an empty slot stands in the sweep line");
      continue;
    }
    ++decided;
    ++taken[slot.pool];
    guesses += slot.guess ? 1 : 0;
    guessed[slot.pool] += slot.guess ? 1 : 0;
    if (slot.sweep) ++swept[slot.pool];
    if (slot.retired) return off("a retired slot has a unit");
    if (slot_of_unit_[slot.unit] != s) return off("slot and unit disagree");
  }
  if (decided != resident_) return off("the resident count is wrong");
  if (guesses != guesses_) return off("the count of guesses is wrong");
  for (uint32_t slot : slot_of_unit_) decided -= slot == kNone ? 0 : 1;
  if (decided != 0) return off("a unit names a slot that has another");
  for (size_t p = 0; p < pools_.size(); ++p) {
    const Pool& pool = pools_[p];
    if (pool.free.size() + taken[p] != pool.slots) return off("a pool lost a slot");
    if (pinned[p] != pinned_[p]) return off("the pin count is wrong");
    if (guessed[p] != pool.guesses) return off("a pool's count of guesses is wrong");
    uint32_t line = 0;
    for (uint32_t s = pool.sweep_first; s != kNone; s = slots_[s].sweep_next) {
      if (!slots_[s].sweep || slots_[s].pool != p || ++line > swept[p]) break;
    }
    if (line != swept[p] || line != pool.sweep_count) return off("the sweep line is broken");
  }
  return Status();
}

std::vector<std::string> Tier::Notes() const {
  std::vector<std::string> notes;
  for (const Pool& pool : pools_) {
    std::string note = pool.policy->note();
    if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(std::move(note));
    }
  }
  return notes;
}

uint64_t Tier::resident_bytes() const {
  // Policies keep some tens of bytes for each unit that their pool may hold, and tables of a fixed
  // size.
  uint64_t policies = pools_.size() * kPolicyTableBytes;
  for (uint32_t pool : pool_of_layer_) policies += pool == kNone ? 0 : 60ull * experts_;
  return slots_.capacity() * (sizeof(Slot) + sizeof(uint32_t)) +
         slot_of_unit_.capacity() * sizeof(uint32_t) + policies;
}

}  // namespace berth::scheduler
