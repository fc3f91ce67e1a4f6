// What a warp of a Radeon takes its part of a share by, with integer dot instructions: weights and
// inputs are read where they lie (card_code.h: kDirect).
//
// A tile is eight rows, or several times eight (passes): rows of gate and the same rows of up, half
// and half, or rows of one matrix, in two parts that lie one after the other.
#ifndef BERTH_KERNELS_GPU_DIRECT_DOTS_H_
#define BERTH_KERNELS_GPU_DIRECT_DOTS_H_

#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/row_sums.h"

namespace berth::kernels::gpu {

template <typename F>
class DirectDots {
 public:
  // In shared memory, this warp's: `state`, and `outputs`: kDotOutputs.
  BERTH_CARD_ONLY DirectDots(const ProductArgs& a, DotState* state, DotOutput* outputs,
                             const CardTable& table)
      : a_(a), s_(state), outputs_(outputs), table_(table) {
    tiles_ = (a.rows + tile_rows() - 1) / tile_rows();
  }

  // A share of the tiles of the list's units from `first_unit` on: all shares of like numbers.
  BERTH_CARD_ONLY void Run(uint32_t share, uint32_t first_unit, bool /*waits*/) {
    const uint32_t count = (*a_.list.unit_count - first_unit) * tiles_;
    const uint32_t each = count / GridBlocks(), more = count - each * GridBlocks();
    const uint32_t begin = first_unit * tiles_ + share * each + (share < more ? share : more);
    at_ = DotPlace(begin + ThreadIndex() / kWarp, tiles_);
    unit_at_ = loaded_place_ = kNobody;
    SyncWarp();  // others may still read what was set before
    if (Lane() == 0) s_->tiles_end = begin + each + (share < more ? 1 : 0);
    SyncWarp();
    const uint32_t end = s_->tiles_end;
    while (at_.number < end) {
      if (unit_at_ != at_.unit_at) {
        unit_at_ = at_.unit_at;
        loaded_place_ = kNobody;
        SyncWarp();
        if (Lane() == 0) s_->unit = a_.list.units[unit_at_];
        SyncWarp();
      }
      Take();
      at_.Advance(BlockThreads() / kWarp, tiles_);
    }
  }

 private:
  static constexpr uint32_t kNobody = 0xffffffff;

  BERTH_CARD_ONLY uint32_t part_rows() const { return kDotPartRows * a_.passes; }
  // Outputs of a tile.
  BERTH_CARD_ONLY uint32_t tile_rows() const { return part_rows() * (a_.matrices == 2 ? 1 : 2); }
  BERTH_CARD_ONLY static uint32_t Part() { return Lane() % 8 / kDotPartRows; }
  // Which row of its part a lane takes in a pass.
  BERTH_CARD_ONLY static uint32_t RowOf(uint32_t pass) {
    return pass * kDotPartRows + Lane() % kDotPartRows;
  }
  // Of the matrix: row `row` of a part of the tile.
  BERTH_CARD_ONLY uint32_t MatrixRow(uint32_t part, uint32_t row) const {
    return at_.tile * tile_rows() + row + (a_.matrices == 2 ? 0 : part * part_rows());
  }
  BERTH_CARD_ONLY bool there() const { return (a_.down ? s_->unit.down : s_->unit.up) != nullptr; }
  // The lane's weight row of a pass. Beyond the last row that row again; its results are left.
  BERTH_CARD_ONLY const uint8_t* RowAt(uint32_t pass) const {
    const uint32_t part = Part(), in_matrix = MatrixRow(part, RowOf(pass));
    const uint8_t* const second = a_.down ? s_->unit.down : s_->unit.up;
    const uint8_t* const first = a_.matrices == 2 ? s_->unit.gate : second;
    const uint8_t* const matrix = part == 0 ? first : second;
    const uint32_t row = in_matrix < a_.rows ? in_matrix : a_.rows - 1;
    return InCardMemory(matrix) + row * static_cast<uint32_t>(a_.row_bytes[0]);
  }

  // A tile with its unit's pairs. Everything is in here once: an instruction cache is small.
  BERTH_CARD_ONLY void Take() {
    const uint32_t end = s_->unit.count;
    const bool arrives = !a_.down && a_.h_bytes.q != nullptr;
    for (uint32_t pair = 0; pair < end; pair += kDotPairs) {
      const uint32_t count = end - pair < kDotPairs ? end - pair : kDotPairs;
      LoadInputs(s_->unit.first + pair, count);
      for (uint32_t pass = 0; pass < a_.passes; ++pass) {
        const bool last_of_tile = pair + kDotPairs >= end && pass + 1 == a_.passes;
        float sums[kDotPairs][2] = {};
        if (there()) AddRows(pass, count, sums);
        SyncWarp();
        if (there()) KeepOutputs(pass, count, sums);
        const bool last = at_.number + BlockThreads() / kWarp >= s_->tiles_end;
        const bool flushes = last_of_tile && (last || arrives);
        if (flushes || outputs_used_ >= kDotEnough) Flush();
      }
    }
    if (!arrives || !there()) return;
    OutputsStored(a_, unit_at_, s_->unit, at_.tile * tile_rows(), tile_rows());
  }

  // Where the inputs of `count` pairs lie.
  BERTH_CARD_ONLY void LoadInputs(uint32_t place, uint32_t count) {
    if (loaded_place_ == place) return;
    loaded_place_ = place;
    const uint32_t own = place + (Lane() < count ? Lane() : 0);
    const uint32_t row = a_.down ? own : a_.list.pairs[own] / a_.top_k;
    input_ = row * a_.bytes.stride;
  }

  // Eight weight rows with `count` pairs.
  BERTH_CARD_ONLY void AddRows(uint32_t pass, uint32_t count, float (&sums)[kDotPairs][2]) {
    const uint8_t* const row = RowAt(pass);
    if (count == 1) {
      AddSome<1>(row, sums);
    } else if (count == 2) {
      AddSome<2>(row, sums);
    } else {
      AddSome<kDotPairs>(row, sums);
    }
  }
  template <uint32_t kRows>
  BERTH_CARD_ONLY void AddSome(const uint8_t* row, float (&all)[kDotPairs][2]) {
    RowInputs<kRows> rows;
    rows.bytes = a_.bytes;
    float sums[kRows][2];
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) {
      rows.offsets[n] = FromLane(input_, n);
      sums[n][0] = all[n][0];
      sums[n][1] = all[n][1];
    }
    AddRow<F, kRows>(row, Lane() / 8, a_.cols / 32, 0, table_, rows, sums);
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) {
      all[n][0] = sums[n][0];
      all[n][1] = sums[n][1];
    }
  }

  // The four lanes of a row add up, and lanes 8 n and so on keep the products of pair n.
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
    const uint32_t part = Part();
    BERTH_UNROLL
    for (uint32_t i = 0; i < kOfLane; ++i) {
      const uint32_t n = Lane() / 8 + 4 * i;
      if (n >= count) continue;
      DotOutput* const to = outputs_ + outputs_used_ + (gated ? n : 2 * n + part);
      to->values[gated ? part : 0][Lane() % kDotPartRows] = products[i];
      if (Lane() % kDotPartRows != 0 || (gated && part != 0)) continue;
      to->row = MatrixRow(part, RowOf(pass));
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
      const uint32_t row = from.row + i % 4;
      if (row >= a_.rows) continue;
      if (a_.down) {
        StorePartial(a_, from.expert, a_.list.pairs[from.place], row, from.values[0][i % 4]);
      } else {
        StoreActivation(a_, a_.list.pairs, from.expert, from.place, row, from.values[0][i % 4],
                        from.values[a_.matrices == 2 ? 1 : 0][i % 4], from.wide);
      }
    }
    outputs_used_ = 0;
    SyncWarp();
  }

  const ProductArgs& a_;
  DotState* const s_;
  DotOutput* const outputs_;
  const CardTable table_;
  uint32_t tiles_ = 0;               // of a unit
  DotPlace at_;                      // what is taken
  uint32_t unit_at_ = kNobody;       // whose unit s_->unit is
  uint32_t loaded_place_ = kNobody;  // of the list, whose inputs these are:
  uint32_t input_ = 0;               // lane n: columns in front of the row of pair n
  uint32_t outputs_used_ = 0;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_DIRECT_DOTS_H_
