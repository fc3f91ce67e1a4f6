#include "runtime/trace/stats/lru_stack.h"

#include <algorithm>

namespace berth::trace {

LruStack::LruStack(uint32_t range, uint32_t most_units) : place_of_(range, kNowhere) {
  constexpr uint32_t kWord = 1u << kWordBits;
  const uint32_t words = (4 * most_units + kWord - 1) / kWord;
  unit_at_.resize(size_t{words} * kWord);
  taken_.resize(words);
  // Up to the level that is a single sixteen. Levels end with a whole one, so that sums need no
  // bound.
  for (uint32_t counts = words;; counts = counts >> kFanBits) {
    counts = (counts + kFan - 1) / kFan * kFan;
    levels_.emplace_back(counts);
    if (counts == kFan) break;
  }
}

void LruStack::MoveTogether() {
  uint32_t to = 0;
  for (uint32_t place = 0; place < head_; ++place) {
    const uint32_t unit = unit_at_[place];
    if (place_of_[unit] != place) continue;
    unit_at_[to] = unit;
    place_of_[unit] = to++;
  }
  ClearPlaces();
  for (head_ = 0; head_ < to; ++head_) Set(head_);
}

void LruStack::Forget() {
  for (uint32_t place = 0; place < head_; ++place) place_of_[unit_at_[place]] = kNowhere;
  ClearPlaces();
  head_ = 0;
}

void LruStack::ClearPlaces() {
  std::fill(taken_.begin(), taken_.end(), 0);
  for (std::vector<uint32_t>& counts : levels_) std::fill(counts.begin(), counts.end(), 0);
}

}  // namespace berth::trace
