// The tuned kernel of a format for few rows: products by integer dot instructions.
//
// A share is tiles that lie one after the other (dot_stages.h), so a block sees few units, whose
// inputs it keeps in shared memory (local_rows.h); its warps take the tiles in turns, each out of
// stages of its own (staging.h), four lanes a row (row_sums.h). Nothing is waited for between
// tiles: what a tile makes is only stored, and sums follow when all shares have ended (shares.h).
// Where units of many rows are about, they come first (wide_kernel.h).
#ifndef BERTH_KERNELS_GPU_DOT_KERNEL_H_
#define BERTH_KERNELS_GPU_DOT_KERNEL_H_

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/dot_stages.h"
#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/local_rows.h"
#include "kernels/gpu/shares.h"
#include "kernels/gpu/tile_stages.h"
#include "kernels/gpu/wide_kernel.h"

namespace berth::kernels::gpu {

// A warp of a block; all of them call the same.
template <typename F>
class DotWarp {
 public:
  // In shared memory: `word`: kShareWords; `units`: kDotUnits; the rest is this warp's: `outputs`:
  // kDotOutputs.
  BERTH_CARD_ONLY DotWarp(const ProductArgs& a, uint32_t* word, CardUnit* units, DotState* state,
                          DotFill* fill, DotOutput* outputs, uint8_t* stages, uint64_t* barriers,
                          const LocalRows& local, const CardTable& table)
      : a_(a),
        stages_(a, stages, barriers),
        word_(word),
        units_(units),
        s_(state),
        fill_(fill),
        outputs_(outputs),
        local_(local),
        table_(table) {
    if (Lane() == 0) s_->begun = false;
    SyncWarp();
  }

  // Asks for the first weights of a share of all units, if it is known which they are.
  BERTH_CARD_ONLY void Begin(uint32_t share) {
    if constexpr (kDirect) return;
    const EarlyUnits early(a_);
    if (early.count() == 0) return;
    SetShare(share, 0, early.count(), a_.down);
    SetTiles(s_->begin, s_->end, 0, kNobody);
    // How many pairs a unit has may not be known yet, which says what follows its first ones.
    FillStages(&early, stages_.by_tile() ? a_.depth : a_.passes * Chunks());
    if (Lane() == 0) {
      fill_->unit = kNobody;
      s_->begun = true;
    }
    SyncWarp();
  }

  // A share of the tiles of the list's units from `first_unit` on.
  BERTH_CARD_ONLY void Run(uint32_t share, uint32_t first_unit) {
    if (!s_->begun) {
      SetShare(share, first_unit, *a_.list.unit_count, true);
      SetTiles(s_->begin, s_->end, 0, kNobody);
    }
    const uint32_t begin = s_->begin, end = s_->end;
    SyncWarp();
    if (Lane() == 0) s_->begun = false;
    if (begin >= end) {
      asked_ = 0;
      return;
    }
    const uint32_t tiles = stages_.tiles();
    const uint32_t first = begin / tiles, last = (end - 1) / tiles;
    SyncBlock();
    if (Lane() == 0) s_->first_unit = first;
    if (!kDirect && ThreadIndex() < kDotUnits && first + ThreadIndex() <= last) {
      units_[ThreadIndex()] = a_.list.units[first + ThreadIndex()];
    }
    SyncBlock();
    uint32_t place = UnitAt(first).first;
    const CardUnit of_last = UnitAt(last);
    uint32_t places = of_last.first + of_last.count - place;
    const bool local = !kDirect && places <= a_.local_rows;
    const bool together = kDirect || local || !a_.down || a_.local_rows == 0;
    if (!together) Drain();
    // All units, or one after the other, as many of its pairs at a time as there are local rows:
    // nobody else makes bytes of h.
    uint32_t unit_at = first, pair = 0;
    for (;;) {
      if (!together) {
        const CardUnit unit = UnitAt(unit_at);
        const uint32_t left = unit.count - pair, from = unit_at * tiles;
        SetTiles(from < begin ? begin : from, from + tiles < end ? from + tiles : end, pair,
                 a_.local_rows);
        place = unit.first + pair;
        places = left < a_.local_rows ? left : a_.local_rows;
        SyncBlock();
      }
      if (Lane() == 0) {
        s_->first_place = place;
        s_->local_used = local || !together;
      }
      FillStages(nullptr, a_.depth);
      if (local || !together) local_.Make(place, places);
      SyncWarp();
      RunTiles();
      if (together) return;
      pair += a_.local_rows;
      if (pair < UnitAt(unit_at).count) continue;
      pair = 0;
      if (++unit_at > last) return;
    }
  }

 private:
  static constexpr uint32_t kNobody = 0xffffffff;

  BERTH_CARD_ONLY CardUnit UnitAt(uint32_t at) const {
    if constexpr (kDirect) return a_.list.units[at];
    const uint32_t first = s_->first_unit;
    return at - first < kDotUnits ? units_[at - first] : a_.list.units[at];
  }
  BERTH_CARD_ONLY uint32_t Chunks() const {
    return stages_.by_tile() ? 1 : (a_.cols + a_.chunk_cols - 1) / a_.chunk_cols;
  }

  // Shares of like numbers of tiles, or, with the list there, of like work.
  BERTH_CARD_ONLY void SetShare(uint32_t share, uint32_t first_unit, uint32_t units, bool listed) {
    const uint32_t tiles = stages_.tiles(), count = (units - first_unit) * tiles;
    uint32_t begin = 0, end = 0;
    if (!listed || kDirect || a_.x_rows == 1 || count == 0) {
      const uint32_t each = count / GridBlocks(), more = count - each * GridBlocks();
      begin = first_unit * tiles + share * each + (share < more ? share : more);
      end = begin + each + (share < more ? 1 : 0);
    } else {
      FindTiles<1>(a_.list.units, first_unit, units, *a_.list.pair_count, tiles, share, word_ + 1);
      begin = word_[1];
      end = word_[2];
      SyncBlock();
    }
    SyncWarp();
    if (Lane() == 0) {
      s_->begin = begin;
      s_->end = end;
    }
    SyncWarp();
  }
  // What is to be taken: these tiles, of their units' pairs those from `pair` on, `pairs` at most.
  BERTH_CARD_ONLY void SetTiles(uint32_t begin, uint32_t end, uint32_t pair, uint32_t pairs) {
    at_ = DotPlace(begin + ThreadIndex() / kWarp, stages_.tiles());
    unit_at_ = loaded_place_ = kNobody;
    SyncWarp();  // others may still read what was set before
    if (Lane() == 0) {
      s_->tiles_end = end;
      s_->pair_begin = pair;
      s_->pairs = pairs;
      fill_->at = at_;
      fill_->unit = kNobody;
      fill_->count = fill_->pass = fill_->col = 0;
      fill_->pair = pair;
    }
    SyncWarp();
  }
  BERTH_CARD_ONLY uint32_t PairsEnd(uint32_t count) const {
    const uint32_t begin = s_->pair_begin, pairs = s_->pairs;
    return count - begin < pairs ? count : begin + pairs;
  }

  // Asks for what follows, up to `most` stages.
  BERTH_CARD_ONLY void FillStages(const EarlyUnits* early, uint32_t most) {
    if constexpr (kDirect) return;
    BERTH_NO_UNROLL
    for (; asked_ < a_.depth && asked_ < most; ++asked_) {
      const uint32_t stage = stage_ + asked_;
      FillStage(stage < a_.depth ? stage : stage - a_.depth, early);
    }
  }
  // What follows in the order in which stages are emptied, or nothing behind the last.
  BERTH_CARD_ONLY void FillStage(uint32_t stage, const EarlyUnits* early) {
    DotFill fill = *fill_;
    SyncWarp();
    if (!stages_.by_tile() && fill.col >= a_.cols) NextRows(&fill);
    if (fill.at.number >= s_->tiles_end) {
      CloseStage();
      return;
    }
    if (fill.unit != fill.at.unit_at) {
      fill.unit = fill.at.unit_at;
      if (early != nullptr) {
        fill.from = stages_.MatricesOf(early->At(fill.unit));
      } else {
        const CardUnit unit = UnitAt(fill.unit);
        fill.from = stages_.MatricesOf(unit);
        fill.count = unit.count;
      }
    }
    stages_.Fill(fill.at, fill.from, fill.pass, fill.col, stage);
    if (stages_.by_tile()) {
      fill.at.Advance(BlockThreads() / kWarp, stages_.tiles());
    } else {
      fill.col += a_.chunk_cols;
    }
    if (Lane() == 0) *fill_ = fill;
    SyncWarp();
  }
  // All columns of a pass have been asked for: its tile's next pass, or the same again for more of
  // its unit's pairs, or the next tile.
  BERTH_CARD_ONLY void NextRows(DotFill* fill) const {
    fill->col = 0;
    if (++fill->pass < a_.passes) return;
    fill->pass = 0;
    fill->pair += kDotPairs;
    if (fill->unit != fill->at.unit_at) fill->count = UnitAt(fill->at.unit_at).count;
    if (fill->pair < PairsEnd(fill->count)) return;
    fill->pair = s_->pair_begin;
    fill->at.Advance(BlockThreads() / kWarp, stages_.tiles());
  }
  // The stage has been read.
  BERTH_CARD_ONLY void Empty() {
    SyncWarp();
    FillStage(stage_, nullptr);
    NextStage();
  }
  BERTH_CARD_ONLY void NextStage() {
    stage_ = stage_ + 1 < a_.depth ? stage_ + 1 : 0;
    round_ += stage_ == 0 ? 1 : 0;
  }
  // Forgets what has been asked for: stages of this share's first tiles.
  BERTH_CARD_ONLY void Drain() {
    DotPlace at = at_;
    for (; asked_ > 0; --asked_) {
      if (at.number < s_->tiles_end) {
        stages_.Wait(stage_, round_);
        SyncWarp();
        NextStage();
      }
      if (stages_.by_tile()) at.Advance(BlockThreads() / kWarp, stages_.tiles());
    }
  }

  BERTH_CARD_ONLY void RunTiles() {
    const uint32_t end = s_->tiles_end;
    while (at_.number < end) {
      if (unit_at_ != at_.unit_at) {
        unit_at_ = at_.unit_at;
        loaded_place_ = kNobody;
        SyncWarp();
        if (Lane() == 0) s_->unit = UnitAt(unit_at_);
        SyncWarp();
      }
      Take();
      at_.Advance(BlockThreads() / kWarp, stages_.tiles());
    }
    asked_ = 0;
  }

  // Known to be false on a Radeon, whose loads from either memory are slow.
  BERTH_CARD_ONLY bool UsesLocal() const { return !kDirect && s_->local_used; }
  BERTH_CARD_ONLY bool there() const { return (a_.down ? s_->unit.down : s_->unit.up) != nullptr; }

  // A tile with its unit's pairs. Everything is in here once: an instruction cache is small.
  BERTH_CARD_ONLY void Take() {
    const bool whole = kDirect || stages_.by_tile();
    const uint32_t step = whole ? a_.cols : a_.chunk_cols;
    const uint32_t end = PairsEnd(s_->unit.count);
    const bool arrives = !a_.down && a_.h_bytes.q != nullptr;
    for (uint32_t pair = s_->pair_begin; pair < end; pair += kDotPairs) {
      const uint32_t count = end - pair < kDotPairs ? end - pair : kDotPairs;
      LoadInputs(s_->unit.first + pair, count);
      for (uint32_t pass = 0; pass < a_.passes; ++pass) {
        const bool first_of_tile = pair == s_->pair_begin && pass == 0;
        const bool last_of_tile = pair + kDotPairs >= end && pass + 1 == a_.passes;
        float sums[kDotPairs][2] = {};
        BERTH_NO_UNROLL
        for (uint32_t col = 0; col < a_.cols; col += step) {
          if (!kDirect && (!whole || first_of_tile)) stages_.Wait(stage_, round_);
          if (there()) AddStage(pass, col, step, count, sums);
          if (!kDirect && (!whole || last_of_tile)) Empty();
        }
        SyncWarp();
        if (there()) KeepOutputs(pass, count, sums);
        const bool last = at_.number + BlockThreads() / kWarp >= s_->tiles_end;
        const bool flushes = last_of_tile && (last || arrives);
        if (flushes || outputs_used_ >= kDotEnough) Flush();
      }
    }
    if (!arrives || !there()) return;
    OutputsStored(a_, unit_at_, s_->unit, at_.tile * stages_.tile_rows(), stages_.tile_rows());
  }

  // Where the inputs of `count` pairs lie.
  BERTH_CARD_ONLY void LoadInputs(uint32_t place, uint32_t count) {
    if (loaded_place_ == place) return;
    loaded_place_ = place;
    const uint32_t own = place + (Lane() < count ? Lane() : 0);
    const uint32_t row = UsesLocal() ? own - s_->first_place
                         : a_.down   ? own
                                     : a_.list.pairs[own] / a_.top_k;
    input_ = row * a_.bytes.stride;
  }

  // Eight weight rows, `cols` columns of them from `col` on, with `count` pairs.
  BERTH_CARD_ONLY void AddStage(uint32_t pass, uint32_t col, uint32_t cols, uint32_t count,
                                float (&sums)[kDotPairs][2]) {
    const uint8_t* const row = stages_.RowAt(at_, stages_.MatricesOf(s_->unit), pass, col, stage_);
    const uint32_t left = a_.cols - col, blocks = (left < cols ? left : cols) / 32;
    if (count == 1) {
      AddSome<1>(row, col, blocks, sums);
    } else if (count == 2) {
      AddSome<2>(row, col, blocks, sums);
    } else if (kDotPairs == 4 || count <= 4) {
      AddSome<4>(row, col, blocks, sums);
    } else if constexpr (kDotPairs > 4) {
      AddSome<8>(row, col, blocks, sums);
    }
  }
  template <uint32_t kRows>
  BERTH_CARD_ONLY void AddSome(const uint8_t* row, uint32_t col, uint32_t blocks,
                               float (&all)[kDotPairs][2]) {
    RowInputs<kRows> rows;
    rows.bytes = a_.bytes;
    if (UsesLocal()) rows.bytes = local_.rows();
    float sums[kRows][2];
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) {
      rows.offsets[n] = FromLane(input_, n) + col;
      sums[n][0] = all[n][0];
      sums[n][1] = all[n][1];
    }
    const uint32_t odd = (SharedAddress(row) >> 1) & 1;
    AddRow<F, kRows>(row, Lane() / 8, blocks, odd, table_, rows, sums);
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) {
      all[n][0] = sums[n][0];
      all[n][1] = sums[n][1];
    }
  }

  // The four lanes of a row add up, and lanes 8 n and so on keep the products of pairs n and n + 4.
  BERTH_CARD_ONLY void KeepOutputs(uint32_t pass, uint32_t count, float (&sums)[kDotPairs][2]) {
    constexpr uint32_t kOfLane = kDotPairs / 4;
    float products[kOfLane] = {};
    BERTH_UNROLL
    for (uint32_t n = 0; n < kDotPairs; ++n) {
      if (n < count) {
        const float total = SumOfFourLanes(sums[n]);
        if (Lane() / 8 == n % 4) products[n / 4] = total;
      }
    }
    const bool gated = a_.matrices == 2;
    const uint32_t part = stages_.Part();
    BERTH_UNROLL
    for (uint32_t i = 0; i < kOfLane; ++i) {
      const uint32_t n = Lane() / 8 + 4 * i;
      if (n >= count) continue;
      DotOutput* const to = outputs_ + outputs_used_ + (gated ? n : 2 * n + part);
      to->values[gated ? part : 0][Lane() % kDotPartRows] = products[i];
      if (Lane() % kDotPartRows != 0 || (gated && part != 0)) continue;
      to->row = stages_.MatrixRow(at_, part, stages_.RowOf(pass));
      to->place = loaded_place_ + n;
      to->expert = s_->unit.expert;
      to->wide = DownIsWide(a_, s_->unit);
    }
    outputs_used_ += gated ? count : 2 * count;
  }

  // Stores what has become of the products that wait.
  BERTH_CARD_ONLY void Flush() {
    SyncWarp();
    for (uint32_t i = Lane(); i < 4 * outputs_used_; i += kWarp) {
      const DotOutput& from = outputs_[i / 4];
      const uint32_t row = from.row + i % 4 * a_.row_step;
      if (row >= a_.rows) continue;
      if (a_.down) {
        StorePartial(a_, from.expert, a_.list.pairs[from.place], row, from.values[0][i % 4]);
      } else {
        StoreActivation(a_, from.expert, from.place, row, from.values[0][i % 4],
                        from.values[a_.matrices == 2 ? 1 : 0][i % 4], from.wide);
      }
    }
    outputs_used_ = 0;
    SyncWarp();
  }

  const ProductArgs& a_;
  const DotStages<F> stages_;
  uint32_t* const word_;
  CardUnit* const units_;
  DotState* const s_;
  DotFill* const fill_;
  DotOutput* const outputs_;
  const LocalRows& local_;
  const CardTable table_;
  DotPlace at_;                      // what is taken
  uint32_t unit_at_ = kNobody;       // whose unit s_->unit is
  uint32_t loaded_place_ = kNobody;  // of the list, whose inputs these are:
  uint32_t input_ = 0;               // lane n: columns in front of the row of pair n
  uint32_t outputs_used_ = 0;
  uint32_t stage_ = 0, round_ = 0;  // the next to be emptied, and how often it was
  uint32_t asked_ = 0;              // stages ahead of it, while tiles are set
};

template <typename F>
inline constexpr uint32_t kDotCopies = kTableCopies<F, kMostTableBytes>;

// A block's shared memory: words, units, outputs of the warps, the table, local rows, stages,
// barriers.
template <typename F>
class DotMemory {
 public:
  BERTH_CARD_ONLY DotMemory(const ProductArgs& a, uint8_t* shared) : a_(a), shared_(shared) {}

  BERTH_CARD_ONLY uint32_t* word() const { return reinterpret_cast<uint32_t*>(shared_); }
  BERTH_CARD_ONLY uint32_t* table() const {
    return reinterpret_cast<uint32_t*>(shared_ + DotFixedBytes(Warps()));
  }
  BERTH_CARD_ONLY uint8_t* behind_table() const {
    return shared_ + DotFixedBytes(Warps()) + F::kTableWords * kDotCopies<F> * 4;
  }
  BERTH_CARD_ONLY LocalRows Local() const { return LocalRows(a_, behind_table(), kHalves); }
  BERTH_CARD_ONLY DotWarp<F> Warp(const LocalRows& local) const {
    const uint32_t warp = ThreadIndex() / kWarp;
    auto* const units = reinterpret_cast<CardUnit*>(shared_ + kShareWords * 4);
    auto* const states = reinterpret_cast<DotState*>(units + kDotUnits);
    auto* const fills = reinterpret_cast<DotFill*>(states + Warps());
    auto* const outputs = reinterpret_cast<DotOutput*>(fills + Warps());
    uint8_t* const stages = behind_table() + a_.local_rows * LocalRowBytes(a_.cols, kHalves);
    const uint32_t bytes = a_.depth * (a_.chunk_cols == 0 ? 2 * a_.part_bytes : 8 * a_.row_stride);
    auto* const barriers = reinterpret_cast<uint64_t*>(stages + Warps() * bytes);
    return DotWarp<F>(a_, word(), units, states + warp, fills + warp, outputs + warp * kDotOutputs,
                      stages + warp * bytes, barriers + warp * a_.depth, local, Table());
  }
  BERTH_CARD_ONLY CardTable Table() const { return TableOfLane<kDotCopies<F>>(table()); }

 private:
  static constexpr bool kHalves = F::kKind.minima && F::kKind.halves;
  BERTH_CARD_ONLY static uint32_t Warps() { return BlockThreads() / kWarp; }

  const ProductArgs& a_;
  uint8_t* const shared_;
};

// Of few rows: no unit is wide.
template <typename F>
BERTH_KERNEL(kDotThreads, kDotBlocks)
DotKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  const DotMemory<F> memory(a, shared);
  const LocalRows local = memory.Local();
  DotWarp<F> self = memory.Warp(local);
  uint32_t share = TakeShare(a, memory.word());
  if (share < GridBlocks()) self.Begin(share);
  if constexpr (kCopies > 0) {
    FillTableCopies<F, kCopies>(memory.table());
    SyncBlock();
  }
  WaitForLastLaunch();
  NextLaunchMayStart();
  for (; share < GridBlocks(); share = EndShare(a, memory.word())) self.Run(share, 0);
  SumShares(a);
}

// Of many rows: wide units (wide_kernel.h), then the others.
template <typename F>
BERTH_KERNEL(kDotThreads, kDotBlocks)
WideKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  constexpr uint32_t kCopies = kDotCopies<F>;
  const DotMemory<F> memory(a, shared);
  if constexpr (kCopies > 0) FillTableCopies<F, kCopies>(memory.table());
  WaitForLastLaunch();
  NextLaunchMayStart();
  SyncBlock();
  const uint32_t units = *a.list.wide_count;
  for (uint32_t share = TakeShare(a, memory.word()); share < GridBlocks();
       share = EndShare(a, memory.word())) {
    uint32_t turn = share;
    if (units != 0) {
      turn =
          WideBlock<F>(a, memory.behind_table(), memory.Table(), memory.table()).Run(units, share);
      if constexpr (kHasWidePoints<F>) {
        static_assert(kWidePointTableWords<F> <= F::kTableWords * kCopies);
        FillTableCopies<F, kCopies>(memory.table());
        SyncBlock();
      }
    }
    const LocalRows local = memory.Local();
    memory.Warp(local).Run(turn, units);
  }
  SumShares(a);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DOT_KERNEL_H_
