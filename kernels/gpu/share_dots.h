// A block's share of a launch, by integer dot instructions: tiles of the list's units of few pairs,
// as many units at a time as there is room for the inputs of their pairs in 8 bits (local_rows.h).
// Warps take tiles in turns, each out of stages of its own (row_stages.h); what a tile makes is
// only stored, and nothing is waited for between tiles.
//
// The list lies in the card's memory, or in the block's own (call_kernel.h); some units of it are
// at hand.
#ifndef BERTH_KERNELS_GPU_SHARE_DOTS_H_
#define BERTH_KERNELS_GPU_SHARE_DOTS_H_

#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/item_sums.h"
#include "kernels/gpu/local_rows.h"

namespace berth::kernels::gpu {

// Four rows of gate and the same of up, or eight rows of one matrix.
struct ShareItems {
  const ProductArgs& a;
  const CardUnit* units;  // from that on which has number 0 in places
  bool down;
  uint32_t tiles_;  // of a unit
  uint32_t rows_apart_;

  BERTH_CARD_ONLY uint32_t tiles() const { return tiles_; }
  BERTH_CARD_ONLY uint32_t outputs() const { return a.matrices == 2 ? 4 : 8; }
  BERTH_CARD_ONLY uint32_t rows_apart() const { return rows_apart_; }
  BERTH_CARD_ONLY uint32_t FirstOutput(uint32_t tile) const {
    return a.row_step == 1 ? outputs() * tile : 2 * outputs() * (tile / 2) + tile % 2;
  }
  BERTH_CARD_ONLY uint32_t OutputOf(uint32_t tile) const {
    return FirstOutput(tile) + a.row_step * (Lane() % outputs());
  }
  BERTH_CARD_ONLY const uint8_t* MatrixOf(uint32_t unit_at) const {
    const CardUnit& unit = units[unit_at];
    const uint8_t* const one = down ? unit.down : unit.up;
    return a.matrices == 2 && Lane() % 8 < 4 ? unit.gate : one;
  }
};

// Tiles of a unit.
BERTH_CARD_ONLY uint32_t TilesOfUnit(const ProductArgs& a) {
  const uint32_t log_rows = (a.matrices == 2 ? 2 : 3) + (a.row_step == 1 ? 0 : 1);
  return ((a.rows + (1u << log_rows) - 1) >> log_rows) * a.row_step;
}

// Of a unit whose share of the work is `work`, the tile that lies `part` of that, which is less,
// from its begin. All blocks find the same, and no earlier one for more. By floats: a division of
// integers of 64 bits takes a hundred instructions.
BERTH_CARD_ONLY uint32_t TileAt(uint64_t part, uint64_t work, uint32_t tiles) {
  const auto tile = static_cast<uint32_t>(
      Mul(static_cast<float>(part), Div(static_cast<float>(tiles), static_cast<float>(work))));
  return tile < tiles ? tile : tiles - 1;
}

// What of a share is in a block's kShareWords words: its tiles and the unit of the first; the first
// word is others'.
inline constexpr uint32_t kShareBegin = 1, kShareEnd = 2, kShareUnit = 3;

template <typename F, Half kHalf = Half::kAny>
class ShareDots {
 public:
  // In shared memory: `words`: kShareWords; `units`: kDotUnits. `list` and `pairs`: the list's.
  BERTH_CARD_ONLY ShareDots(const ProductArgs& a, uint32_t* words, CardUnit* units,
                            const CardUnit* list, const uint32_t* pairs,
                            const LocalRows<kHalf>& local, const CardTable& table,
                            const RowStages<F>& stages)
      : a_(a),
        words_(words),
        units_(units),
        list_(list),
        pairs_(pairs),
        local_(local),
        table_(table),
        stages_(stages),
        tiles_(TilesOfUnit(a)) {}

  // Share `share` of the tiles of the list's units from `first_unit` on. `waits`: the list is
  // there; before inputs are, WaitAndGoOn has to be called.
  BERTH_CARD_ONLY void Run(uint32_t share, uint32_t first_unit, bool waits) {
    FindTiles(share, first_unit);
    RunFound(false, waits);
  }

  // Of a share that was found: asks for its first weights.
  BERTH_CARD_ONLY void Ask() {
    const uint32_t begin = words_[kShareBegin], end = words_[kShareEnd];
    if (begin >= end) return;
    const uint32_t unit = words_[kShareUnit];
    stages_.Start(ItemsOf(), PlaceOf(begin, unit),
                  EndOf(WindowOf(unit, end), unit, end) - unit * tiles_);
  }
  // Runs it. `asked`: of the warp, Ask() was called. `waits`: as of Run.
  BERTH_CARD_ONLY void RunFound(bool asked, bool waits) {
    const uint32_t begin = words_[kShareBegin], end = words_[kShareEnd];
    uint32_t unit = words_[kShareUnit];
    for (uint32_t at = begin; at < end;) {
      if (at != begin) {
        SyncBlock();  // warps may still read the units before, and their inputs
        LoadUnits(unit, end);
      }
      const Window window = WindowOf(unit, end);
      const DotPlace place = PlaceOf(at, unit);
      at = EndOf(window, unit, end);
      const uint32_t left = at - unit * tiles_;
      for (uint32_t pair = 0; pair < window.pairs; pair += window.at_once) {
        const ShareItems items = ItemsOf();
        const uint32_t pairs = window.pairs - pair;
        const uint32_t from = units_[0].first + pair;
        const uint32_t count = pairs < window.at_once ? pairs : window.at_once;
        // What has been in the card's memory from the begin is asked for first.
        constexpr bool kThere = kHalf == Half::kGateUp;
        typename LocalRows<kHalf>::Pieces pieces;
        if (kThere) pieces = local_.Ask(from, count);
        if (kHalf == Half::kAny || !asked) stages_.Start(items, place, left);
        asked = false;
        if (waits) WaitAndGoOn();
        waits = false;
        if (pair != 0) SyncBlock();
        if (!kThere) pieces = local_.Ask(from, count);
        local_.Make(from, count, pieces);
        RunItems(items, place, left, unit, pair, from);
      }
      unit += window.units;
    }
    if (waits) WaitAndGoOn();
  }

  // There is no other share.
  BERTH_CARD_ONLY void Close() const { stages_.Close(); }

 private:
  // Not kept where the arguments have them: registers are short.
  BERTH_CARD_ONLY const CardUnit* List() const {
    return kHalf == Half::kAny ? a_.list.units : list_;
  }
  BERTH_CARD_ONLY const uint32_t* Pairs() const {
    return kHalf == Half::kAny ? a_.list.pairs : pairs_;
  }
  BERTH_CARD_ONLY void LoadUnits(uint32_t unit, uint32_t end) const {
    if (ThreadIndex() < kDotUnits && (unit + ThreadIndex()) * tiles_ < end) {
      units_[ThreadIndex()] = List()[unit + ThreadIndex()];
    }
    SyncBlock();
  }
  BERTH_CARD_ONLY ShareItems ItemsOf() const {
    return {a_, units_, IsDown<kHalf>(a_), tiles_,
            BlockThreads() / kWarp * (a_.matrices == 2 ? 4 : 8)};
  }
  // The warp's first tile of those from `at` on, counted from unit `unit` on.
  BERTH_CARD_ONLY DotPlace PlaceOf(uint32_t at, uint32_t unit) const {
    DotPlace place;
    place.Step(at - unit * tiles_ + ThreadIndex() / kWarp);
    place.Settle(tiles_);
    return place;
  }

  // The tiles of the list's units from `first` on that share `share` has, where shares are of like
  // work, and its first units. Synchronizes in front and behind.
  BERTH_CARD_ONLY void FindTiles(uint32_t share, uint32_t first) {
    // All asked for together, before it is known how many units there are.
    const CardUnit* const units = a_.list.units;
    const uint32_t mine = first + ThreadIndex();
    CardUnit own;
    if (mine < a_.most_units) own = units[mine];
    const uint32_t base = first == 0 || first >= a_.most_units ? 0 : units[first].work;
    const uint32_t end = *a_.list.unit_count, all = *a_.list.all_work - base;
    SyncBlock();
    uint32_t before = own.work, count = own.count;
    BERTH_NO_UNROLL
    for (uint32_t at = mine; at < end;) {
      // In parts of one.
      const uint64_t begins = uint64_t{before - base} * GridBlocks();
      const uint64_t work = uint64_t{UnitWork(count)} * GridBlocks();
      BERTH_NO_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        const uint64_t wanted = uint64_t{share + i} * all;
        if (wanted < begins || wanted >= begins + work) continue;
        words_[kShareBegin + i] = at * tiles_ + TileAt(wanted - begins, work, tiles_);
        if (i == 0) words_[kShareUnit] = at;
      }
      at += BlockThreads();
      if (at >= end) break;
      before = units[at].work;
      count = units[at].count;
    }
    if (ThreadIndex() == 0) {
      if (first == end) words_[kShareBegin] = words_[kShareUnit] = end * tiles_;
      if (first == end || share + 1 == GridBlocks()) words_[kShareEnd] = end * tiles_;
    }
    SyncBlock();
    const uint32_t unit = words_[kShareUnit];
    if (mine >= unit && mine < unit + kDotUnits) units_[mine - unit] = own;
    const uint32_t later = unit + ThreadIndex();
    if (ThreadIndex() < kDotUnits && later >= first + BlockThreads() && later < end) {
      units_[ThreadIndex()] = units[later];
    }
    SyncBlock();
  }

  // Units whose pairs there is room for together; or one whose pairs come one part after the other.
  struct Window {
    uint32_t units, pairs, at_once;
  };
  BERTH_CARD_ONLY Window WindowOf(uint32_t unit, uint32_t end) const {
    const uint32_t most = a_.local_rows < kDotPairs ? a_.local_rows : kDotPairs;
    if (units_[0].count > most) return {1, units_[0].count, most};
    uint32_t units = 0, pairs = 0;
    BERTH_NO_UNROLL
    for (; units < kDotUnits && (unit + units) * tiles_ < end; ++units) {
      const uint32_t more = units_[units].count;
      if (more > most || pairs + more > a_.local_rows) break;
      pairs += more;
    }
    return {units, pairs, a_.local_rows};
  }
  // The tile behind its last.
  BERTH_CARD_ONLY uint32_t EndOf(const Window& window, uint32_t unit, uint32_t end) const {
    const uint32_t behind = (unit + window.units) * tiles_;
    return behind < end ? behind : end;
  }

  // `pair`: the first of the pairs, of the one unit if they come in parts; `from`: its place.
  BERTH_CARD_ONLY void RunItems(const ShareItems& items, DotPlace at, uint32_t end, uint32_t unit,
                                uint32_t pair, uint32_t from) {
    BERTH_NO_UNROLL
    while (at.number < end) {
      const CardUnit of = units_[at.unit_at];
      const uint32_t left = of.count - pair, count = left < kDotPairs ? left : kDotPairs;
      const uint32_t place = of.first + pair;
      const bool there = (IsDown<kHalf>(a_) ? of.down : of.up) != nullptr;
      const bool arrives = kHalf == Half::kAny && there && !a_.down && a_.h_bytes.q != nullptr &&
                           pair + count == of.count;
      const uint32_t first = items.FirstOutput(at.tile);
      const uint32_t of_unit = end - at.unit_at * tiles_;
      // Tiles before this one; if their outputs have to be announced, one at a time.
      const uint32_t before = arrives ? at.tile + 1 : of_unit < tiles_ ? of_unit : tiles_;
      const UnitPairs pairs = {of, place, place - from, count, there};
      stages_.Begin(items, at);
      if (count == 1) {
        TakeTiles<1>(items, &at, before, pairs);
      } else if (count == 2) {
        TakeTiles<2>(items, &at, before, pairs);
      } else if (count <= 4) {
        TakeTiles<4>(items, &at, before, pairs);
      } else {
        TakeTiles<8>(items, &at, before, pairs);
      }
      if (arrives) {
        SyncWarp();
        OutputsStored(a_, unit + at.unit_at, of, first, items.outputs(), a_.row_step);
      }
      at.Settle(tiles_);
    }
  }

  struct UnitPairs {
    const CardUnit& unit;
    uint32_t place, local, count;
    bool there;  // the unit's matrices are
  };
  // The warp's tiles from `at` on and before tile `before` of the unit.
  template <uint32_t kRows>
  BERTH_CARD_ONLY void TakeTiles(const ShareItems& items, DotPlace* at, uint32_t before,
                                 const UnitPairs& pairs) {
    uint32_t inputs[kRows];
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) {
      inputs[n] = (pairs.local + (n < pairs.count ? n : pairs.count - 1)) * local_.rows().stride;
    }
    // Products wait until there are some for all lanes: of so many tiles.
    constexpr uint32_t kTiles = kRows < 4 ? 4 / kRows : 1;
    Outputs<(kRows + 3) / 4> outputs;
    uint32_t tiles = 0;
    uint32_t row = items.OutputOf(at->tile);
    constexpr uint32_t kAtOnce = kItemsAtOnce<F, kRows>;
    const uint32_t warps = BlockThreads() / kWarp;
    const bool two = TakesTwoItems<F, kRows>(a_);
    BERTH_NO_UNROLL
    while (at->tile < before) {
      float sums[kAtOnce][kRows][2] = {};
      const uint32_t count = two && at->tile + warps < before ? 2 : 1;
      AddItems<F, kRows>(a_, local_.rows(), table_, items, count, inputs, &stages_, sums);
      BERTH_UNROLL
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        if (i == count) break;
        const uint32_t item = count - 1 - i;  // the last one's sums come first
        BERTH_UNROLL
        for (uint32_t first = 0; first < kRows; first += 4) {
          const float product = ProductOf<kRows>(sums[i], first);
          if (kTiles > 1 && Lane() / 8 / kRows != tiles + item) continue;
          outputs.products[first / 4] = product;
          outputs.row = row + item * items.rows_apart();
        }
      }
      at->Step(count * warps);
      row += count * items.rows_apart();
      tiles += count;
      if (tiles + kAtOnce <= kTiles && at->tile < before) continue;
      Store<kRows>(outputs, tiles, pairs);
      tiles = 0;
    }
  }

  // What waits for a lane: products of one weight row with pair Lane() / 8 and those 4 apart, of
  // one tile; or, of fewer pairs, with pair Lane() / 8 % kRows, of tile Lane() / 8 / kRows.
  template <uint32_t kProducts>
  struct Outputs {
    float products[kProducts] = {};
    uint32_t row = 0;
  };
  template <uint32_t kRows>
  BERTH_CARD_ONLY void Store(const Outputs<(kRows + 3) / 4>& outputs, uint32_t tiles,
                             const UnitPairs& pairs) const {
    const bool own = a_.matrices == 1 || Lane() % 8 < 4;
    const bool stores =
        pairs.there && own && outputs.row < a_.rows && (kRows >= 4 || Lane() / 8 / kRows < tiles);
    BERTH_UNROLL
    for (uint32_t first = 0; first < kRows; first += 4) {
      const float product = outputs.products[first / 4];
      const float other = LaneXor(product, 4u);
      const uint32_t n = first + Lane() / 8 % kRows;
      if (!stores || n >= pairs.count) continue;
      const uint32_t place = pairs.place + n, expert = pairs.unit.expert;
      if (IsDown<kHalf>(a_)) {
        StorePartial(a_, expert, Pairs()[place], outputs.row, product);
      } else {
        StoreActivation(a_, Pairs(), expert, place, outputs.row, product,
                        a_.matrices == 2 ? other : product,
                        kHalf == Half::kAny && DownIsWide(a_, pairs.unit));
      }
    }
  }

  const ProductArgs& a_;
  uint32_t* const words_;
  CardUnit* const units_;  // from that on which has number 0 in places
  const CardUnit* const list_;
  const uint32_t* const pairs_;
  const LocalRows<kHalf>& local_;
  const CardTable table_;
  RowStages<F> stages_;
  const uint32_t tiles_;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_SHARE_DOTS_H_
