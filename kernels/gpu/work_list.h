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

// A unit's place among `count` numbers of pairs, the pairs before it and their work; zeros are no
// units.
struct Rank {
  uint32_t at = 0, first = 0, work = 0;
};
BERTH_CARD_ONLY Rank RankOf(const uint32_t* counts, uint32_t count, uint32_t self) {
  Rank rank;
  const uint32_t own = counts[self];
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t other = counts[i];
    const bool earlier = i < self && other != 0;
    const bool before = other > own || (other == own && earlier);
    rank.at += before ? 1 : 0;
    rank.first += before ? other : 0;
    rank.work += before ? UnitWork(other) : 0;
  }
  return rank;
}

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
  AtomicAdd(a.list.unit_count, 1);
  AtomicAdd(a.list.all_work, UnitWork(count));
  if (count > a.wide_over) AtomicAdd(a.list.wide_count, 1);
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

// `shared`: words, one per unit.
BERTH_CARD_ONLY void ListWave(const PrepareArgs& a, uint32_t* shared) {
  for (uint32_t i = ThreadIndex(); i < a.unit_count; i += BlockThreads()) {
    shared[i] = LoadShared(&a.units[i].pair_count);
  }
  SyncBlock();
  for (uint32_t i = ThreadIndex(); i < a.unit_count; i += BlockThreads()) {
    if (shared[i] == 0) continue;
    const WaveUnit unit = UnitOf(a.units[i]);
    const Rank rank = RankOf(shared, a.unit_count, i);
    const std::byte* const address =
        unit.address != nullptr ? unit.address : AddressOf(a, unit.unit);
    StoreUnit(a, unit.unit, unit.expert, address, reinterpret_cast<const int64_t*>(&unit.shifts),
              rank, shared[i]);
    for (uint32_t k = 0; k < shared[i]; ++k) {
      a.list.pairs[rank.first + k] = LoadShared(a.pairs + unit.first_pair + k);
    }
  }
}

// An expert that there is, or kNoExpert.
BERTH_CARD_ONLY int32_t ExpertOf(const PrepareArgs& a, uint32_t pair) {
  const int32_t id = LoadShared(a.ids + pair);
  if (id >= 0 && static_cast<uint32_t>(id) >= a.experts) {
    ReportFailed(a, a.first_unit + static_cast<uint32_t>(id));
    return kNoExpert;
  }
  return id < 0 ? kNoExpert : id;
}

// A thread a pair. The first pair of an expert stands for the unit.
// `shared`: words, three per pair.
BERTH_CARD_ONLY void ListFewPairs(const PrepareArgs& a, uint32_t* shared) {
  const uint32_t pairs = a.pair_count, self = ThreadIndex();
  auto* const ids = reinterpret_cast<int32_t*>(shared);
  uint32_t* const counts = shared + pairs;
  uint32_t* const firsts = shared + 2 * pairs;
  const bool there = self < pairs;
  const int32_t id = there ? ExpertOf(a, self) : kNoExpert;
  // Asked for now, needed later.
  const std::byte* const address =
      id == kNoExpert ? nullptr : AddressOf(a, a.first_unit + static_cast<uint32_t>(id));
  if (there) ids[self] = id;
  SyncBlock();
  uint32_t leader = self, before = 0, count = 0;
  if (id != kNoExpert) {
    for (uint32_t i = 0; i < pairs; ++i) {
      if (ids[i] != id) continue;
      leader = i < leader ? i : leader;
      before += i < self ? 1 : 0;
      ++count;
    }
  }
  const bool leads = id != kNoExpert && leader == self;
  if (there) counts[self] = leads ? count : 0;
  SyncBlock();
  if (leads) {
    const Rank rank = RankOf(counts, pairs, self);
    const auto expert = static_cast<uint32_t>(id);
    StoreUnit(a, a.first_unit + expert, expert, address, nullptr, rank, count);
    firsts[self] = rank.first;
  }
  SyncBlock();
  if (id != kNoExpert) a.list.pairs[firsts[leader] + before] = self;
}

// `shared`: words, two per expert.
BERTH_CARD_ONLY void ListManyPairs(const PrepareArgs& a, uint32_t* shared) {
  uint32_t* const counts = shared;
  uint32_t* const next = shared + a.experts;
  for (uint32_t e = ThreadIndex(); e < a.experts; e += BlockThreads()) counts[e] = 0;
  SyncBlock();
  for (uint32_t pair = ThreadIndex(); pair < a.pair_count; pair += BlockThreads()) {
    const int32_t id = ExpertOf(a, pair);
    if (id != kNoExpert) AtomicAdd(counts + id, 1);
  }
  SyncBlock();
  for (uint32_t e = ThreadIndex(); e < a.experts; e += BlockThreads()) {
    if (counts[e] == 0) continue;
    const Rank rank = RankOf(counts, a.experts, e);
    const UnitIndex unit = a.first_unit + e;
    StoreUnit(a, unit, e, AddressOf(a, unit), nullptr, rank, counts[e]);
    next[e] = rank.first;
  }
  SyncBlock();
  for (uint32_t pair = ThreadIndex(); pair < a.pair_count; pair += BlockThreads()) {
    const int32_t id = a.ids[pair];
    if (id < 0 || static_cast<uint32_t>(id) >= a.experts) continue;
    a.list.pairs[AtomicAdd(next + id, 1)] = pair;
  }
}

BERTH_CARD_ONLY void MakeWorkList(const PrepareArgs& a, uint32_t* shared) {
  if (ThreadIndex() < 3) a.list.unit_count[ThreadIndex()] = 0;
  SyncBlock();
  if (a.units != nullptr) {
    ListWave(a, shared);
  } else if (a.pair_count <= kFewPairs) {
    ListFewPairs(a, shared);
  } else {
    ListManyPairs(a, shared);
  }
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WORK_LIST_H_
