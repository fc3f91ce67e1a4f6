// The work list of a grouped call, by one block: units in the order of their numbers of pairs, most
// first, and pairs in the order of their units.
//
// What other launches wrote is read past this multiprocessor's own cache: launches overlap
// (card_warp.h), and blocks of one before may have left there what it was then.
#ifndef BERTH_KERNELS_GPU_WORK_LIST_H_
#define BERTH_KERNELS_GPU_WORK_LIST_H_

#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/expert_args.h"

namespace berth::kernels::gpu {

inline constexpr uint32_t kListThreads = 512;
inline constexpr uint32_t kNoId = 0xffffffff;

// The lowest unit without an address stays.
BERTH_CARD_ONLY void ReportFailed(const PrepareArgs& a, UnitIndex unit) {
  if (a.failed_unit == nullptr) return;
  uint32_t before = 0;
  for (;;) {
    const uint32_t found = AtomicSwapIf(a.failed_unit, before, unit + 1);
    if (found == before || (found != 0 && found <= unit + 1)) return;
    before = found;
  }
}

// A unit's place in the list, the pairs before it and their work.
struct Rank {
  uint32_t at = 0, first = 0, work = 0;
};

// Puts units into the order of their numbers of pairs, most first, by the whole block. Units of
// fewer pairs than kCounts are counted by that number; others, of which only calls of many rows
// have some, are compared with each other.
class UnitOrder {
 public:
  static constexpr uint32_t kCounts = 4 * kWarp;

  // `shared`: ListWords(units).
  BERTH_CARD_ONLY UnitOrder(uint32_t* shared, uint32_t units)
      : counts_(shared),
        next_(shared + units),
        tables_(shared + 2 * units),
        totals_(tables_ + 4 * kCounts),
        units_(units) {}
  static constexpr uint32_t WordsBesides() { return 4 * kCounts + kTotals; }

  // Of unit `unit`, to be set before Sort; zeros are no units.
  BERTH_CARD_ONLY uint32_t* counts() const { return counts_; }
  // Word `unit`: the caller's, once it knows Of(unit).
  BERTH_CARD_ONLY uint32_t* next() const { return next_; }

  // Synchronize behind it.
  BERTH_CARD_ONLY void Clear() const {
    for (uint32_t i = ThreadIndex(); i < WordsBesides(); i += BlockThreads()) tables_[i] = 0;
  }
  // Synchronizes; then unit `unit`, if it has pairs, is at Of(unit). Stores the list's numbers.
  BERTH_CARD_ONLY void Sort(const WorkList& list, uint32_t wide_over) const {
    for (uint32_t unit = ThreadIndex(); unit < units_; unit += BlockThreads()) {
      const uint32_t count = counts_[unit];
      if (count == 0) continue;
      if (count > wide_over) AtomicAdd(totals_ + kWide, 1);
      if (count < kCounts) {
        next_[unit] = AtomicAdd(Units() + count, 1);
        continue;
      }
      AtomicAdd(totals_ + kUnits, 1);
      AtomicAdd(totals_ + kPairs, count);
      AtomicAdd(totals_ + kWork, UnitWork(count));
    }
    SyncBlock();
    if (ThreadIndex() < kWarp) FindBegins(list);
    SyncBlock();
  }
  BERTH_CARD_ONLY Rank Of(uint32_t unit) const {
    const uint32_t count = counts_[unit];
    if (count >= kCounts) return Compared(unit);
    const uint32_t before = next_[unit];
    return {Before(kUnits)[count] + before, Before(kPairs)[count] + before * count,
            Before(kWork)[count] + before * UnitWork(count)};
  }

 private:
  enum Total : uint32_t { kUnits, kPairs, kWork, kWide, kTotals };

  // By number of pairs: how many units, and what lies before them.
  BERTH_CARD_ONLY uint32_t* Units() const { return tables_; }
  BERTH_CARD_ONLY uint32_t* Before(Total what) const { return tables_ + (1 + what) * kCounts; }

  // The sum of the lanes before.
  BERTH_CARD_ONLY static uint32_t SumBefore(uint32_t value) {
    uint32_t sum = value;
    BERTH_UNROLL
    for (uint32_t apart = 1; apart < kWarp; apart *= 2) {
      const uint32_t other = FromLane(sum, (Lane() - apart) % kWarp);
      if (Lane() >= apart) sum += other;
    }
    return sum - value;
  }
  // By a warp, four numbers a lane, the largest first.
  BERTH_CARD_ONLY void FindBegins(const WorkList& list) const {
    constexpr uint32_t kOfLane = kCounts / kWarp;
    const uint32_t largest = kCounts - 1 - kOfLane * Lane();
    uint32_t sums[3] = {};
    BERTH_UNROLL
    for (uint32_t i = 0; i < kOfLane; ++i) {
      const uint32_t units = Units()[largest - i];
      sums[kUnits] += units;
      sums[kPairs] += units * (largest - i);
      sums[kWork] += units * UnitWork(largest - i);
    }
    BERTH_UNROLL
    for (uint32_t what = 0; what < 3; ++what) {
      sums[what] = totals_[what] + SumBefore(sums[what]);
    }
    BERTH_UNROLL
    for (uint32_t i = 0; i < kOfLane; ++i) {
      const uint32_t count = largest - i, units = Units()[count];
      Before(kUnits)[count] = sums[kUnits];
      Before(kPairs)[count] = sums[kPairs];
      Before(kWork)[count] = sums[kWork];
      sums[kUnits] += units;
      sums[kPairs] += units * count;
      sums[kWork] += units * UnitWork(count);
    }
    if (Lane() + 1 != kWarp) return;
    *list.unit_count = sums[kUnits];
    *list.all_work = sums[kWork];
    *list.wide_count = totals_[kWide];
  }

  BERTH_CARD_ONLY Rank Compared(uint32_t self) const {
    Rank rank;
    const uint32_t own = counts_[self];
    for (uint32_t i = 0; i < units_; ++i) {
      const uint32_t other = counts_[i];
      if (other < own || (other == own && i >= self)) continue;
      ++rank.at;
      rank.first += other;
      rank.work += UnitWork(other);
    }
    return rank;
  }

  uint32_t* const counts_;
  uint32_t* const next_;
  uint32_t* const tables_;
  uint32_t* const totals_;
  const uint32_t units_;
};

BERTH_CARD_ONLY void StoreUnit(const PrepareArgs& a, UnitIndex unit, uint32_t expert,
                               const std::byte* address, const int64_t* shifts, const Rank& rank,
                               uint32_t count) {
  CardUnit to;
  to.expert = expert;
  to.first = rank.first;
  to.count = count;
  to.work = rank.work;
  if (address == nullptr) {
    ReportFailed(a, unit);
  } else {
    const auto* const base = reinterpret_cast<const uint8_t*>(address);
    to.gate = base + a.gate_offset + (shifts == nullptr ? 0 : shifts[0]);
    to.up = base + a.up_offset + (shifts == nullptr ? 0 : shifts[1]);
    to.down = base + a.down_offset + (shifts == nullptr ? 0 : shifts[2]);
  }
  a.list.units[rank.at] = to;
}

// The pointer table's entry of a unit.
BERTH_CARD_ONLY const std::byte* AddressOf(const PrepareArgs& a, UnitIndex unit) {
  const auto* const entries = reinterpret_cast<const uint64_t*>(a.table);
  return reinterpret_cast<const std::byte*>(LoadShared(entries + unit));
}
BERTH_CARD_ONLY WaveUnit UnitOf(const WaveUnit& at) {
  WaveUnit unit;
  unit.unit = LoadShared(&at.unit);
  unit.expert = LoadShared(&at.expert);
  unit.first_pair = LoadShared(&at.first_pair);
  unit.address = reinterpret_cast<const std::byte*>(
      LoadShared(reinterpret_cast<const uint64_t*>(&at.address)));
  const auto* const from = reinterpret_cast<const int64_t*>(&at.shifts);
  auto* const to = reinterpret_cast<int64_t*>(&unit.shifts);
  for (uint32_t i = 0; i < 3; ++i) to[i] = LoadShared(from + i);
  return unit;
}

// Words that are asked for together: one after the other, each would take its time.
template <uint32_t kCount>
struct Words {
  uint32_t words[kCount];
};
inline constexpr uint32_t kWordsAtOnce = 8;
// `at` and those `apart`, `left` of them at most.
template <uint32_t kCount>
BERTH_CARD_ONLY Words<kCount> LoadWordsApart(const uint32_t* at, uint32_t apart, uint32_t left) {
  Words<kCount> to;
  BERTH_UNROLL
  for (uint32_t i = 0; i < kCount; ++i) {
    to.words[i] = i * apart < left ? LoadShared(at + i * apart) : 0;
  }
  return to;
}

// A wave's.
BERTH_CARD_ONLY void ListWave(const PrepareArgs& a, const UnitOrder& order) {
  order.Clear();
  for (uint32_t i = ThreadIndex(); i < a.unit_count; i += BlockThreads()) {
    order.counts()[i] = LoadShared(&a.units[i].pair_count);
  }
  SyncBlock();
  order.Sort(a.list, a.wide_over);
  for (uint32_t i = ThreadIndex(); i < a.unit_count; i += BlockThreads()) {
    const uint32_t count = order.counts()[i];
    if (count == 0) continue;
    const WaveUnit unit = UnitOf(a.units[i]);
    const Rank rank = order.Of(i);
    const std::byte* const address =
        unit.address != nullptr ? unit.address : AddressOf(a, unit.unit);
    StoreUnit(a, unit.unit, unit.expert, address, reinterpret_cast<const int64_t*>(&unit.shifts),
              rank, count);
    for (uint32_t first = 0; first < count; first += kWordsAtOnce) {
      const auto pairs =
          LoadWordsApart<kWordsAtOnce>(a.pairs + unit.first_pair + first, 1, count - first);
      BERTH_UNROLL
      for (uint32_t k = 0; k < kWordsAtOnce; ++k) {
        if (first + k < count) a.list.pairs[rank.first + first + k] = pairs.words[k];
      }
    }
  }
}

// The router's ids of a thread's pairs from `first` on, kCount of them.
template <uint32_t kCount>
BERTH_CARD_ONLY Words<kCount> IdsFrom(const PrepareArgs& a, uint32_t first) {
  if (first >= a.pair_count) return {};
  return LoadWordsApart<kCount>(reinterpret_cast<const uint32_t*>(a.ids) + first, BlockThreads(),
                                a.pair_count - first);
}
// Calls `take` with each of a thread's pairs that is somebody's, and its id; `ids`: the first ones.
template <uint32_t kCount, typename Take>
BERTH_CARD_ONLY void ForEachPair(const PrepareArgs& a, Words<kCount> ids, const Take& take) {
  BERTH_NO_UNROLL
  for (uint32_t first = ThreadIndex(); first < a.pair_count;) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
      const uint32_t pair = first + i * BlockThreads();
      const auto id = static_cast<int32_t>(ids.words[i]);
      if (pair < a.pair_count && id >= 0) take(pair, static_cast<uint32_t>(id));
    }
    first += kCount * BlockThreads();
    ids = IdsFrom<kCount>(a, first);
  }
}

// The router's. Whatever a thread needs first it asks for before anything else. kAtOnce: of a
// thread's pairs; calls of few have code of their own, which comes to the card the sooner.
template <uint32_t kAtOnce>
BERTH_CARD_ONLY void ListIds(const PrepareArgs& a, const UnitOrder& order) {
  const uint32_t self = ThreadIndex(), threads = BlockThreads();
  const auto ids = IdsFrom<kAtOnce>(a, self);
  const std::byte* const first_address =
      self < a.experts ? AddressOf(a, a.first_unit + self) : nullptr;
  order.Clear();
  for (uint32_t e = self; e < a.experts; e += threads) order.counts()[e] = 0;
  SyncBlock();
  uint32_t unknown = kNoId;
  ForEachPair(a, ids, [&](uint32_t, uint32_t id) {
    if (id < a.experts) {
      AtomicAdd(order.counts() + id, 1);
    } else if (id < unknown) {
      unknown = id;
    }
  });
  if (unknown != kNoId) ReportFailed(a, a.first_unit + unknown);
  SyncBlock();
  order.Sort(a.list, a.wide_over);
  for (uint32_t e = self; e < a.experts; e += threads) {
    const uint32_t count = order.counts()[e];
    if (count == 0) continue;
    const UnitIndex unit = a.first_unit + e;
    const Rank rank = order.Of(e);
    StoreUnit(a, unit, e, e == self ? first_address : AddressOf(a, unit), nullptr, rank, count);
    order.next()[e] = rank.first;
  }
  SyncBlock();
  ForEachPair(a, ids, [&](uint32_t pair, uint32_t id) {
    if (id < a.experts) a.list.pairs[AtomicAdd(order.next() + id, 1)] = pair;
  });
}

// `shared`: WorkListWords(a).
BERTH_CARD_ONLY void MakeWorkList(const PrepareArgs& a, uint32_t* shared) {
  if (a.units != nullptr) {
    ListWave(a, UnitOrder(shared, a.unit_count));
  } else if (a.pair_count <= BlockThreads()) {
    ListIds<1>(a, UnitOrder(shared, a.experts));
  } else {
    ListIds<kWordsAtOnce>(a, UnitOrder(shared, a.experts));
  }
}

// Words of shared memory that the list of so many units is made in.
constexpr uint32_t ListWords(uint32_t units) { return 2 * units + UnitOrder::WordsBesides(); }
inline uint32_t WorkListWords(const PrepareArgs& a) {
  return ListWords(a.units != nullptr ? a.unit_count : a.experts);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WORK_LIST_H_
