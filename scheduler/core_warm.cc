// Core: what is loaded before the first step, and what was learned by the last.
#include <algorithm>
#include <cstddef>
#include <string>

#include "scheduler/core.h"

namespace berth::scheduler {

std::vector<UnitIndex> Core::WarmUnits() const {
  std::vector<UnitIndex> units;
  if (options_.heat.empty()) return units;
  const std::vector<double>& heat = options_.heat;
  // Of equally hot units the lower index is the hotter one, as the static policy has it.
  const auto colder = [&heat](UnitIndex a, UnitIndex b) {
    return heat[a] != heat[b] ? heat[a] < heat[b] : a > b;
  };
  for (uint32_t c = 0; c < cards_.size(); ++c) {
    std::vector<double> of_card = heat;
    for (UnitIndex u = 0; u < of_card.size(); ++u) {
      if (CardOf(u) != c) of_card[u] = 0;
    }
    const std::vector<UnitIndex> hottest = cards_[c].arena->Hottest(of_card);
    units.insert(units.end(), hottest.begin(), hottest.end());
  }
  std::sort(units.begin(), units.end(), colder);
  if (host_ == nullptr) return units;
  // An exclusive tier has no copy of what is on a card, an inclusive one has of all that came.
  std::vector<double> elsewhere = heat;
  for (UnitIndex u : units) elsewhere[u] = 0;
  const size_t on_cards = units.size();
  for (UnitIndex u : host_->Hottest(elsewhere)) units.push_back(u);
  std::sort(units.begin() + static_cast<std::ptrdiff_t>(on_cards), units.end(), colder);
  if (!options_.host_exclusive) KeepHottest(on_cards, &units);
  return units;
}

// Of the units after the first `on_cards`, which are in order of heat, as many as the host tier has
// slots left where it holds the first as well: more would be read for nothing.
void Core::KeepHottest(size_t on_cards, std::vector<UnitIndex>* units) const {
  std::vector<uint64_t> left(options_.host_class_slots.begin(), options_.host_class_slots.end());
  const auto take = [&](UnitIndex unit) {
    uint64_t& slots = left[geometry_.class_of(unit)];
    if (slots == 0) return false;
    --slots;
    return true;
  };
  for (size_t at = 0; at < on_cards; ++at) (void)take((*units)[at]);
  std::vector<UnitIndex> kept;
  for (size_t at = units->size(); at > on_cards; --at) {
    if (take((*units)[at - 1])) kept.push_back((*units)[at - 1]);
  }
  units->resize(on_cards);
  units->insert(units->end(), kept.rbegin(), kept.rend());
}

// Into the host tier alone.
void Core::WarmHost(UnitIndex unit) {
  if (host_ == nullptr || host_->Find(unit) != kNone) return;
  const uint32_t index = host_->TakeEmpty(unit);
  if (index == kNone) return;
  ++counters_.host.inserted;
  ++counters_.host.warm_loads;
  Decided(unit, ~uint64_t{index});
  AddRead(unit, HostPlace(index), Why::kWarm);
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
    if (index == kNone) {
      WarmHost(unit);
      continue;
    }
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
