// Core: what is loaded before the first step, and what was learned by the last.
#include <algorithm>
#include <string>

#include "scheduler/core.h"

namespace berth::scheduler {

std::vector<UnitIndex> Core::WarmUnits() const {
  std::vector<UnitIndex> units;
  if (options_.heat.empty()) return units;
  const std::vector<double>& heat = options_.heat;
  for (uint32_t c = 0; c < cards_.size(); ++c) {
    std::vector<double> of_card = heat;
    for (UnitIndex u = 0; u < of_card.size(); ++u) {
      if (CardOf(u) != c) of_card[u] = 0;
    }
    const std::vector<UnitIndex> hottest = cards_[c].arena->Hottest(of_card);
    units.insert(units.end(), hottest.begin(), hottest.end());
  }
  // Of equally hot units the lower index is the hotter one, as the static policy has it.
  std::sort(units.begin(), units.end(), [&heat](UnitIndex a, UnitIndex b) {
    return heat[a] != heat[b] ? heat[a] < heat[b] : a > b;
  });
  return units;
}

Status Core::SubmitWarm(std::span<const UnitIndex> units) {
  if (closing_) return FailedPreconditionError("the runtime is closed");
  if (any_pass_) return FailedPreconditionError("a warm start after the first step or hint");
  if (units.size() > warm_batch()) {
    return InvalidArgumentError("a warm start of " + std::to_string(units.size()) +
                                " units at once: at most " + std::to_string(warm_batch()));
  }
  for (UnitIndex unit : units) {
    if (unit >= geometry_.units()) {
      return OutOfRangeError("a warm start with unit " + std::to_string(unit) + " of " +
                             std::to_string(geometry_.units()));
    }
  }
  ++stamp_;
  for (UnitIndex unit : units) stamps_[unit] = stamp_;
  for (Card& card : cards_) card.arena->BeginWarm(pass_);
  if (host_ != nullptr) host_->BeginWarm(pass_);
  for (UnitIndex unit : units) {
    const uint32_t card = CardOf(unit);
    Tier& arena = *cards_[card].arena;
    if (arena.Find(unit) != kNone) continue;
    const uint32_t index = arena.TakeEmpty(unit);
    if (index == kNone) continue;
    CardCounters& count = counters_.cards[card];
    ++count.inserted;
    ++count.warm_loads;
    Decided(unit, stamp_);
    Load(unit, ArenaPlace(card, index), Why::kWarm);
  }
  return Status();
}

void Core::Learned(std::vector<double>* heat) const {
  heat->assign(geometry_.units(), 0);
  std::vector<double> of_card(geometry_.units());
  for (uint32_t c = 0; c < cards_.size(); ++c) {
    cards_[c].arena->Learned(of_card);
    for (UnitIndex u = 0; u < of_card.size(); ++u) {
      if (CardOf(u) == c) (*heat)[u] = of_card[u];
    }
  }
}

}  // namespace berth::scheduler
