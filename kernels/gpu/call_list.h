// The work list of a call of few pairs, by each block for itself, in its shared memory: units in
// the order of their experts, pairs in the order of their units and then of their numbers. So all
// blocks have the same list without a word between them.
#ifndef BERTH_KERNELS_GPU_CALL_LIST_H_
#define BERTH_KERNELS_GPU_CALL_LIST_H_

#include "kernels/gpu/call_plan.h"
#include "kernels/gpu/share_dots.h"
#include "kernels/gpu/work_list.h"

namespace berth::kernels::gpu {

// The whole block calls everything here, unless it says otherwise.
class CallList {
 public:
  // `shared`: the block's, CallFixedBytes.
  BERTH_CARD_ONLY CallList(const CallArgs& c, uint8_t* shared) : c_(c), shared_(shared) {}

  BERTH_CARD_ONLY uint32_t* words(bool down) const {
    return reinterpret_cast<uint32_t*>(shared_) + (down ? kShareWords : 0);
  }
  // What the block knows from one share to the next; the list has the first word.
  BERTH_CARD_ONLY uint32_t* state() const { return words(true) + kShareWords; }
  // Of a share that was found, its first units.
  BERTH_CARD_ONLY CardUnit* at_hand(bool down) const {
    return reinterpret_cast<CardUnit*>(shared_ + kCallAtHandAt) + (down ? kDotUnits : 0);
  }
  BERTH_CARD_ONLY CardUnit* units() const {
    return reinterpret_cast<CardUnit*>(shared_ + kCallUnitsAt);
  }
  BERTH_CARD_ONLY uint32_t* pairs() const {
    return reinterpret_cast<uint32_t*>(shared_ + kCallPairsAt);
  }

  // Asks for what a thread needs first.
  struct Asked {
    const std::byte* address;
    uint32_t id;
  };
  BERTH_CARD_ONLY Asked Ask() const {
    const PrepareArgs& a = c_.prepare;
    const uint32_t expert = ThreadIndex() * ExpertsEach();
    return {expert < a.experts ? AddressOf(a, a.first_unit + expert) : nullptr,
            IdOf(ThreadIndex())};
  }
  // From the router's ids. `counts`: of shared memory, a word an expert, free again behind it.
  // Synchronizes, also behind it.
  BERTH_CARD_ONLY void Make(const Asked& asked, uint32_t* counts) const {
    const PrepareArgs& a = c_.prepare;
    const uint32_t begin = ThreadIndex() * ExpertsEach();
    const uint32_t more = begin + ExpertsEach();
    const uint32_t end = more < a.experts ? more : a.experts;
    StoreIds(asked.id);
    for (uint32_t e = begin; e < end; ++e) counts[e] = 0;
    SyncBlock();
    for (uint32_t i = ThreadIndex(); i < a.pair_count; i += BlockThreads()) {
      if (ids()[i] < a.experts) AtomicAdd(counts + ids()[i], 1);
    }
    SyncBlock();
    Sums own;
    for (uint32_t e = begin; e < end; ++e) own.Add(counts[e]);
    Sums before = Scan(own);
    for (uint32_t e = begin; e < end; ++e) {
      const uint32_t count = counts[e];
      if (count == 0) continue;
      const UnitIndex unit = a.first_unit + e;
      StoreUnit(unit, e, e == begin ? asked.address : AddressOf(a, unit), before, count);
      before.Add(count);
    }
    SyncBlock();
  }

  // Finds the tiles of share `share` of both (words), and lists the pairs of their units. The share
  // before is done with. Synchronizes behind it.
  BERTH_CARD_ONLY void Find(uint32_t share) const {
    const Sums all = All();
    const uint32_t count = all.units();
    for (uint32_t at = ThreadIndex(); at < count; at += BlockThreads()) {
      const CardUnit& unit = units()[at];
      const uint64_t begins = uint64_t{unit.work} * GridBlocks();
      const uint64_t work = uint64_t{UnitWork(unit.count)} * GridBlocks();
      BERTH_NO_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        const uint64_t wanted = uint64_t{share + i} * all.work();
        if (wanted < begins || wanted >= begins + work) continue;
        for (const bool down : {false, true}) {
          const uint32_t tiles = TilesOf(down);
          words(down)[kShareBegin + i] = at * tiles + TileAt(wanted - begins, work, tiles);
          if (i == 0) words(down)[kShareUnit] = at;
        }
      }
    }
    if (ThreadIndex() < 2) {
      const bool down = ThreadIndex() == 1;
      const uint32_t tiles = count * TilesOf(down);
      if (count == 0) words(down)[kShareBegin] = words(down)[kShareUnit] = 0;
      if (count == 0 || share + 1 == GridBlocks()) words(down)[kShareEnd] = tiles;
    }
    SyncBlock();
    const uint32_t first = words(false)[kShareUnit];
    if (ThreadIndex() < 2 * kDotUnits && first + ThreadIndex() % kDotUnits < count) {
      at_hand(false)[ThreadIndex()] = units()[first + ThreadIndex() % kDotUnits];
    }
    const uint32_t behind = Behind();
    for (uint32_t at = first + ThreadIndex() / kWarp; at < behind; at += BlockThreads() / kWarp) {
      ListPairs(units()[at]);
    }
    SyncBlock();
  }

  // The shares of gate and up that inputs of the share of down come from that was found: from
  // `begin` on and before `end`. By anybody.
  struct Shares {
    uint32_t begin, end;
  };
  BERTH_CARD_ONLY Shares SharesBefore() const {
    const uint32_t* const found = words(true);
    if (found[kShareBegin] >= found[kShareEnd]) return {0, 0};
    const CardUnit& first = units()[found[kShareUnit]];
    const CardUnit& last = units()[(found[kShareEnd] - 1) / TilesOf(true)];
    const uint32_t behind = last.work + UnitWork(last.count), all = All().work();
    return {first.work * GridBlocks() / all, (behind * GridBlocks() + all - 1) / all};
  }

 private:
  // Units, pairs and work of some experts in one word: no sum of a call is larger.
  class Sums {
   public:
    Sums() = default;
    BERTH_CARD_ONLY explicit Sums(uint32_t word) : word_(word) {}
    BERTH_CARD_ONLY void Add(uint32_t count) {
      if (count != 0) word_ += 1 | count << kPairsAt | UnitWork(count) << kWorkAt;
    }
    BERTH_CARD_ONLY uint32_t units() const { return word_ & ((1u << kPairsAt) - 1); }
    BERTH_CARD_ONLY uint32_t pairs() const {
      return word_ >> kPairsAt & ((1u << (kWorkAt - kPairsAt)) - 1);
    }
    BERTH_CARD_ONLY uint32_t work() const { return word_ >> kWorkAt; }
    BERTH_CARD_ONLY uint32_t word() const { return word_; }

   private:
    static constexpr uint32_t kPairsAt = 10, kWorkAt = 20;
    // A pair takes most where it is a unit's only one.
    static_assert(kMostCallPairs < 1u << kPairsAt && kMostCallPairs * 14 < 1u << (32 - kWorkAt));
    uint32_t word_ = 0;
  };

  BERTH_CARD_ONLY uint32_t* ids() const {
    return reinterpret_cast<uint32_t*>(shared_ + kCallIdsAt);
  }
  BERTH_CARD_ONLY uint32_t* sums() const { return state() + kCallStateWords; }
  BERTH_CARD_ONLY Sums All() const { return Sums(state()[0]); }
  BERTH_CARD_ONLY uint32_t ExpertsEach() const {
    return (c_.prepare.experts + BlockThreads() - 1) / BlockThreads();
  }
  BERTH_CARD_ONLY uint32_t TilesOf(bool down) const {
    return TilesOfUnit(down ? c_.down : c_.gate_up);
  }
  // Behind the last unit of the share that was found.
  BERTH_CARD_ONLY uint32_t Behind() const {
    uint32_t behind = 0;
    for (const bool down : {false, true}) {
      const uint32_t tiles = TilesOf(down);
      const uint32_t of_these = (words(down)[kShareEnd] + tiles - 1) / tiles;
      behind = of_these > behind ? of_these : behind;
    }
    return behind;
  }

  BERTH_CARD_ONLY uint32_t IdOf(uint32_t pair) const {
    const PrepareArgs& a = c_.prepare;
    return pair < a.pair_count ? LoadShared(reinterpret_cast<const uint32_t*>(a.ids) + pair) : 0;
  }
  // What is no expert's is nobody's. `id`: the thread's first.
  BERTH_CARD_ONLY void StoreIds(uint32_t id) const {
    const PrepareArgs& a = c_.prepare;
    for (uint32_t i = ThreadIndex(); i < a.pair_count;) {
      if (static_cast<int32_t>(id) >= 0 && id >= a.experts && BlockIndex() == 0) {
        ReportFailed(a, a.first_unit + id);
      }
      ids()[i] = id < a.experts ? id : kNoId;
      i += BlockThreads();
      id = IdOf(i);
    }
  }
  // Of the threads before; All() is of all threads. Synchronizes.
  BERTH_CARD_ONLY Sums Scan(Sums own) const {
    uint32_t sum = own.word();
    BERTH_UNROLL
    for (uint32_t apart = 1; apart < kWarp; apart *= 2) {
      const uint32_t other = FromLane(sum, (Lane() - apart) % kWarp);
      if (Lane() >= apart) sum += other;
    }
    const uint32_t warp = ThreadIndex() / kWarp, warps = BlockThreads() / kWarp;
    if (Lane() + 1 == kWarp) sums()[warp] = sum;
    SyncBlock();
    const uint32_t of_warp = Lane() < warps ? sums()[Lane()] : 0;
    const uint32_t all = SumOfLanes(of_warp);
    if (ThreadIndex() == 0) state()[0] = all;
    return Sums(SumOfLanes(Lane() < warp ? of_warp : 0) + sum - own.word());
  }
  BERTH_CARD_ONLY void StoreUnit(UnitIndex unit, uint32_t expert, const std::byte* address,
                                 Sums before, uint32_t count) const {
    const PrepareArgs& a = c_.prepare;
    CardUnit to;
    to.expert = expert;
    to.first = before.pairs();
    to.count = count;
    to.work = before.work();
    if (address != nullptr) {
      const auto* const base = reinterpret_cast<const uint8_t*>(address);
      to.gate = base + a.gate_offset;
      to.up = base + a.up_offset;
      to.down = base + a.down_offset;
    } else if (BlockIndex() == 0) {
      ReportFailed(a, unit);
    }
    units()[before.units()] = to;
  }
  // By a warp.
  BERTH_CARD_ONLY void ListPairs(const CardUnit& unit) const {
    uint32_t place = unit.first;
    BERTH_NO_UNROLL
    for (uint32_t first = 0; first < c_.prepare.pair_count; first += kWarp) {
      const uint32_t pair = first + Lane();
      const bool is = pair < c_.prepare.pair_count && ids()[pair] == unit.expert;
      const uint32_t some = Ballot(is);
      if (is) pairs()[place + CountBits(some & ((1u << Lane()) - 1))] = pair;
      place += CountBits(some);
    }
  }

  const CallArgs& c_;
  uint8_t* const shared_;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CALL_LIST_H_
