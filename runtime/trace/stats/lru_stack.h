// LruStack: at which size of a pool with LRU a unit would be found, for all sizes at once.
//
// Time is a row of places; each unit stands at the place of its last use, so its depth is the
// number of units that stand at later places. A bit says which places are taken, and a tree with a
// fan-out of 16 counts them: words of 64 places, sixteens of words, and so on. When the last place
// is taken, the units move together at the front, in order. There are four times as many places as
// units, so that costs O(1) a use; Depth and Use are O(log units).
#ifndef BERTH_RUNTIME_TRACE_STATS_LRU_STACK_H_
#define BERTH_RUNTIME_TRACE_STATS_LRU_STACK_H_

#include <array>
#include <cstdint>
#include <vector>

namespace berth::trace {

class LruStack {
 public:
  // Units 0 to range - 1, of which at most `most_units` are ever used.
  LruStack(uint32_t range, uint32_t most_units);

  // 1 for the unit that was used last, 0 for one that was never used.
  uint32_t Depth(uint32_t unit) const {
    uint32_t place = place_of_[unit];
    if (place == kNowhere) return 0;
    uint32_t word = place >> kWordBits;
    uint32_t depth = Ones(taken_[word] >> (place & 63));
    for (const std::vector<uint32_t>& counts : levels_) {
      depth += SumAfter(&counts[word & ~(kFan - 1)], word & (kFan - 1));
      word >>= kFanBits;
    }
    return depth;
  }
  void Use(uint32_t unit) {
    if (head_ == unit_at_.size()) MoveTogether();
    if (const uint32_t place = place_of_[unit]; place != kNowhere) Clear(place);
    place_of_[unit] = head_;
    unit_at_[head_] = unit;
    Set(head_++);
  }
  void Forget();

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  static constexpr uint32_t kWordBits = 6, kFanBits = 4, kFan = 1u << kFanBits;
  // Sixteen zeros, then sixteen ones: from any place on, so many of each.
  static constexpr std::array<uint32_t, 2 * kFan> kMasks = [] {
    std::array<uint32_t, 2 * kFan> masks{};
    for (uint32_t i = kFan; i < 2 * kFan; ++i) masks[i] = UINT32_MAX;
    return masks;
  }();

  // Without an instruction for it, which not every machine of the baseline has.
  static uint32_t Ones(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return static_cast<uint32_t>(word * 0x0101010101010101u >> 56);
  }
  // Of a sixteen's counts, those behind `at`: all of them under a mask, because the end of a loop
  // that nobody can foresee costs more.
  static uint32_t SumAfter(const uint32_t* sixteen, uint32_t at) {
    const uint32_t* const mask = &kMasks[kFan - 1 - at];
    uint32_t sum = 0;
    for (uint32_t i = 0; i < kFan; ++i) sum += sixteen[i] & mask[i];
    return sum;
  }
  void Set(uint32_t place) {
    uint32_t word = place >> kWordBits;
    taken_[word] |= uint64_t{1} << (place & 63);
    for (std::vector<uint32_t>& counts : levels_) {
      ++counts[word];
      word >>= kFanBits;
    }
  }
  void Clear(uint32_t place) {
    uint32_t word = place >> kWordBits;
    taken_[word] &= ~(uint64_t{1} << (place & 63));
    for (std::vector<uint32_t>& counts : levels_) {
      --counts[word];
      word >>= kFanBits;
    }
  }
  void MoveTogether();
  void ClearPlaces();

  std::vector<uint32_t> place_of_;  // by unit
  std::vector<uint32_t> unit_at_;   // by place
  std::vector<uint64_t> taken_;
  std::vector<std::vector<uint32_t>> levels_;  // taken places of a word, of 16 words, ...
  uint32_t head_ = 0;                          // the next place
};

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_STATS_LRU_STACK_H_
