#include "scheduler/miss_split.h"

#include <algorithm>

namespace berth::scheduler {

MissSplit::MissSplit(const MissCosts* costs, uint32_t cards, uint32_t chunk, uint32_t max_units)
    : costs_(costs), chunk_(chunk), cards_(cards) {
  units_.reserve(max_units);
  order_.reserve(max_units);
}

void MissSplit::BeginStep(uint32_t layer, uint32_t rows) {
  units_.clear();
  layer_ = layer;
  rest_ = costs_->rest + rows * costs_->rest_row;
  for (Card& card : cards_) {
    card.hits = 0;
    card.hit_units = 0;
    card.backlog -= std::min(card.backlog, rest_);
  }
}

void MissSplit::AddHit(uint32_t card, uint32_t rows) {
  if (costs_->empty()) return;
  const CardMissCosts& costs = costs_->cards[card];
  if (cards_[card].hit_units++ == 0) cards_[card].hits = costs.call[layer_];
  cards_[card].hits += costs_->At(costs.unit, layer_, rows);
}

void MissSplit::Play(const MissedUnit& unit, bool on_host, uint64_t* drive, uint64_t* host) {
  if (!unit.in_ram) *drive += costs_->read[layer_];
  const uint64_t there = unit.in_ram ? 0 : *drive;
  if (on_host) {
    *host = std::max(*host, there) + costs_->At(costs_->host, layer_, unit.rows);
    return;
  }
  Card& card = cards_[unit.card];
  const CardMissCosts& costs = costs_->cards[unit.card];
  if (card.staged % chunk_ == 0) card.wave = costs.call[layer_];
  ++card.staged;
  card.copying += costs.copy[layer_];
  card.link = std::max(card.link, there + costs.lead) + costs.copy[layer_];
  card.wave += costs_->At(costs.unit, layer_, unit.rows);
}

uint64_t MissSplit::Forecast() {
  for (size_t c = 0; c < cards_.size(); ++c) {
    Card& card = cards_[c];
    // A load that is under way when the step begins ends before its first copy.
    card.link = std::min(card.backlog, costs_->cards[c].copy[layer_]);
    card.copying = card.link;
    card.staged = 0;
    card.wave = 0;
  }
  uint64_t drive = 0, host = 0;
  // The host begins with what RAM has.
  for (const bool in_ram : {true, false}) {
    for (const MissedUnit& unit : units_) {
      if (unit.in_ram == in_ram) Play(unit, unit.on_host, &drive, &host);
    }
  }
  uint64_t end = host;
  for (size_t c = 0; c < cards_.size(); ++c) {
    const Card& card = cards_[c];
    end = std::max(end, card.hits);
    if (card.staged == 0) continue;
    end = std::max(end, std::max(card.hits, card.link + costs_->cards[c].tail) + card.wave);
  }
  return end;
}

void MissSplit::Decide(bool split) {
  for (MissedUnit& unit : units_) unit.on_host = unit.may_host;
  if (costs_->empty()) return;
  if (split) Split();
  const uint64_t end = Forecast();
  for (Card& card : cards_) card.free = end > card.copying ? end - card.copying : 0;
}

// The units of each card that cost the host most go first, and of all cards' next ones the one
// whose link is done with it earliest.
void MissSplit::Split() {
  order_.clear();
  for (uint32_t u = 0; u < units_.size(); ++u) {
    if (units_[u].may_host) order_.push_back(u);
  }
  std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
    return units_[a].rows != units_[b].rows ? units_[a].rows > units_[b].rows : a < b;
  });
  for (Card& card : cards_) card.next = 0;
  uint64_t end = Forecast();
  while (true) {
    uint64_t best_end = UINT64_MAX, best_link = UINT64_MAX;
    Card* best = nullptr;
    for (uint32_t c = 0; c < cards_.size(); ++c) {
      Card& card = cards_[c];
      while (card.next < order_.size() && units_[order_[card.next]].card != c) ++card.next;
      if (card.next == order_.size()) continue;
      MissedUnit& unit = units_[order_[card.next]];
      unit.on_host = false;
      const uint64_t with = Forecast();
      unit.on_host = true;
      if (with < best_end || (with == best_end && card.link < best_link)) {
        best_end = with;
        best_link = card.link;
        best = &card;
      }
    }
    if (best == nullptr || best_end > end) break;
    units_[order_[best->next++]].on_host = false;
    end = best_end;
  }
  // Back to the host, where that is better after all: by more than a little, since what is staged
  // needs no load behind the step.
  for (const uint32_t u : order_) {
    if (units_[u].on_host) continue;
    units_[u].on_host = true;
    const uint64_t without = Forecast();
    units_[u].on_host = without < end - end / 16;
    if (units_[u].on_host) end = without;
  }
}

bool MissSplit::HasRoom(uint32_t card, uint32_t slack) const {
  if (costs_->empty()) return true;
  const uint64_t copy = costs_->cards[card].copy[layer_];
  return cards_[card].backlog + copy <= cards_[card].free + rest_ + slack * copy;
}

void MissSplit::AddLoad(uint32_t card, uint32_t layer) {
  if (!costs_->empty()) cards_[card].backlog += costs_->cards[card].copy[layer];
}

void MissSplit::EndStep() {
  for (Card& card : cards_) card.backlog -= std::min(card.backlog, card.free);
}

}  // namespace berth::scheduler
