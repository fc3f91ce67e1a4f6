#include "runtime/count/pool_player.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace berth::count {

Result<std::unique_ptr<PoolPlayer>> PoolPlayer::Create(const PoolLayout& layout,
                                                       const CountRequest& request,
                                                       std::span<uint64_t> next_use,
                                                       bool residency) {
  if (request.pool_slots.size() != layout.pools.size()) {
    return InvalidArgumentError("policy '" + request.policy + "' is given slots for " +
                                std::to_string(request.pool_slots.size()) + " pools, there are " +
                                std::to_string(layout.pools.size()));
  }
  if (request.preload && layout.pools[0].heat.empty()) {
    return InvalidArgumentError("policy '" + request.policy +
                                "': a preload fills the slots with the hottest units of a heat "
                                "profile and there is none: give one, or start empty");
  }
  std::unique_ptr<PoolPlayer> player(new PoolPlayer(layout, request, next_use, residency));
  BERTH_RETURN_IF_ERROR(player->MakePolicies());
  return player;
}

PoolPlayer::PoolPlayer(const PoolLayout& layout, const CountRequest& request,
                       std::span<uint64_t> next_use, bool residency)
    : layout_(layout),
      request_(request),
      next_use_(next_use),
      pools_(layout.pools.size()),
      resident_(layout.units()),
      last_step_(layout.units()),
      unit_misses_(layout.units()) {
  if (!residency) return;
  layer_steps_.resize(layout.pool_of_layer.size());
  entered_at_.resize(layout.units());
  resident_steps_.resize(layout.units());
}

Status PoolPlayer::MakePolicies() {
  uint64_t seed = request_.seed;
  for (size_t at = 0; at < pools_.size(); ++at) {
    const Pool& pool = layout_.pools[at];
    policies::PolicyOptions options;
    options.first_unit = pool.first_unit;
    options.units = pool.range_units;
    options.slots = request_.pool_slots[at];
    options.top_k = layout_.top_k;
    options.seed = seed;
    options.heat = pool.heat;
    if (!next_use_.empty()) options.next_use = next_use_.subspan(pool.first_unit, options.units);
    // As the scheduler's arenas number their pools: those that have slots.
    if (options.slots > 0) ++seed;
    BERTH_ASSIGN_OR_RETURN(pools_[at].policy, policies::MakePolicy(request_.policy, options));
    policies::AccessSlots& state = pools_[at].state;
    state.free = options.slots;
    state.resident = resident_;
    state.misses = unit_misses_;
    state.next_uses = next_use_;
  }
  play_accesses_ = policies::AccessPlayOf(request_.policy);
  return Status();
}

void PoolPlayer::Restart(const StepBlock& block) {
  if (started_) {
    for (UnitIndex unit = 0; unit < resident_.size(); ++unit) {
      if (resident_[unit]) Leave(&pools_[layout_.pool_of(unit)], unit);
    }
    // They could be made before, of the same options.
    const Status made = MakePolicies();
    BERTH_CHECK_MSG(made.ok(), "a policy that was made once could not be made again");
  }
  started_ = true;
  if (!request_.preload) return;
  if (!next_use_.empty())
    std::copy(block.first_uses.begin(), block.first_uses.end(), next_use_.begin());
  for (uint32_t pool = 0; pool < pools_.size(); ++pool) {
    pools_[pool].policy->BeginStep(block.runs.front().pass);
    Preload(pool);
  }
}

// The hottest comes in last, so that lists have it as the one used last.
void PoolPlayer::Preload(uint32_t pool) {
  const Pool& layout = layout_.pools[pool];
  std::vector<uint32_t> hottest;
  for (uint32_t local = 0; local < layout.range_units; ++local) {
    if (layout.heat[local] > 0) hottest.push_back(local);
  }
  std::stable_sort(hottest.begin(), hottest.end(),
                   [&](uint32_t a, uint32_t b) { return layout.heat[a] > layout.heat[b]; });
  const size_t slots = request_.pool_slots[pool];
  if (hottest.size() > slots) hottest.resize(slots);
  for (auto local = hottest.rbegin(); local != hottest.rend(); ++local) {
    Enter(&pools_[pool], layout.first_unit + *local);
  }
}

void PoolPlayer::Play(const StepBlock& block, Granularity granularity) {
  if (block.runs.empty()) return;
  if (block.reset) Restart(block);
  // Who is resident when is known by steps only.
  const bool steps = granularity == Granularity::kStep || !layer_steps_.empty();
  steps ? PlaySteps(block, granularity) : PlayAccesses(block);
  if (block.counted) return;
  std::fill(unit_misses_.begin(), unit_misses_.end(), 0);
  for (Slots& slots : pools_) slots.state.inserted = 0;
}

void PoolPlayer::PlaySteps(const StepBlock& block, Granularity granularity) {
  const std::span<const UnitIndex> units(block.units);
  const std::span<const uint32_t> rows(block.rows);
  const std::span<const uint64_t> next_uses(block.next_uses);
  const auto play = [&](const Run& run, uint32_t begin, uint32_t end) {
    if (block.counted && !layer_steps_.empty()) ++layer_steps_[run.layer];
    PlayStep(&pools_[layout_.pool_of_layer[run.layer]], run.pass, units.subspan(begin, end - begin),
             rows.empty() ? rows : rows.subspan(begin, end - begin),
             next_uses.empty() ? next_uses : next_uses.subspan(begin, end - begin));
  };
  uint32_t begin = 0;
  for (const Run& run : block.runs) {
    if (granularity == Granularity::kStep) {
      play(run, begin, run.end);
    } else {
      for (uint32_t at = begin; at < run.end; ++at) play(run, at, at + 1);
    }
    begin = run.end;
  }
}

// As many accesses at once as are of one pool and one pass.
void PoolPlayer::PlayAccesses(const StepBlock& block) {
  const std::span<const UnitIndex> units(block.units);
  const std::span<const uint64_t> next_uses(block.next_uses);
  uint32_t begin = 0;
  for (size_t at = 0; at < block.runs.size();) {
    const Run& first = block.runs[at];
    const uint32_t pool = layout_.pool_of_layer[first.layer];
    uint32_t end = first.end;
    for (++at; at < block.runs.size(); end = block.runs[at++].end) {
      const Run& run = block.runs[at];
      if (run.pass != first.pass || layout_.pool_of_layer[run.layer] != pool) break;
    }
    policies::AccessRun run;
    run.pass = first.pass;
    run.units = units.subspan(begin, end - begin);
    if (!next_uses.empty()) run.next_uses = next_uses.subspan(begin, end - begin);
    run.always_admit = request_.always_admit;
    play_accesses_(*pools_[pool].policy, run, &pools_[pool].state);
    begin = end;
  }
}

void PoolPlayer::PlayStep(Slots* slots, uint64_t pass, std::span<const UnitIndex> units,
                          std::span<const uint32_t> rows, std::span<const uint64_t> next_uses) {
  ++step_;
  slots->policy->BeginStep(pass);
  if (!next_use_.empty()) {
    for (size_t at = 0; at < units.size(); ++at) next_use_[units[at]] = next_uses[at];
  }
  bool missing = false;
  for (size_t at = 0; at < units.size(); ++at) {
    const UnitIndex unit = units[at];
    last_step_[unit] = step_;
    slots->policy->Touched(unit, resident_[unit] != 0, rows.empty() ? 1 : rows[at]);
    missing |= resident_[unit] == 0;
  }
  if (!missing) return;
  for (UnitIndex unit : units) {
    // None of them leaves within the step, so what is resident now was a hit.
    if (resident_[unit]) continue;
    ++unit_misses_[unit];
    slots->state.inserted += Fetch(slots, unit) ? 1 : 0;
  }
}

bool PoolPlayer::Fetch(Slots* slots, UnitIndex unit) {
  // Asked even where the answer does not count: some policies learn from the question.
  if (!slots->policy->Admit(unit) && !request_.always_admit) return false;
  if (slots->state.free == 0) {
    const UnitIndex victim = slots->policy->NextVictim(NotOfStep(*this));
    if (victim == kNoUnit) return false;
    BERTH_CHECK_MSG(resident_[victim], "a policy chose a victim that is not resident");
    Leave(slots, victim);
  }
  Enter(slots, unit);
  return true;
}

void PoolPlayer::Enter(Slots* slots, UnitIndex unit) {
  --slots->state.free;
  resident_[unit] = 1;
  slots->policy->Inserted(unit);
  if (!layer_steps_.empty()) entered_at_[unit] = layer_steps_[unit / layout_.experts];
}

void PoolPlayer::Leave(Slots* slots, UnitIndex unit) {
  ++slots->state.free;
  resident_[unit] = 0;
  slots->policy->Erased(unit);
  if (layer_steps_.empty()) return;
  resident_steps_[unit] += layer_steps_[unit / layout_.experts] - entered_at_[unit];
}

CountResult PoolPlayer::Finish() {
  CountResult result;
  result.layer_misses.resize(layout_.pool_of_layer.size());
  for (UnitIndex unit = 0; unit < unit_misses_.size(); ++unit) {
    result.misses += unit_misses_[unit];
    result.layer_misses[unit / layout_.experts] += unit_misses_[unit];
    if (!layer_steps_.empty() && resident_[unit]) Leave(&pools_[layout_.pool_of(unit)], unit);
  }
  for (const Slots& slots : pools_) result.inserted += slots.state.inserted;
  result.unit_resident_steps = std::move(resident_steps_);
  result.layer_steps = std::move(layer_steps_);
  return result;
}

}  // namespace berth::count
