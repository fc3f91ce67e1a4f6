// A block of down, for few pairs (few_kernel.h): some rows of every unit, and their weighted sums.
#ifndef BERTH_KERNELS_GPU_FEW_DOWN_H_
#define BERTH_KERNELS_GPU_FEW_DOWN_H_

#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/few_block.h"

namespace berth::kernels::gpu {

// Items of down: four rows of two units that lie side by side in the list.
struct FewItems {
  const ProductArgs& a;
  const CardUnit* units;
  uint32_t unit_count;
  uint32_t first, count;  // tiles of four rows

  BERTH_CARD_ONLY uint32_t UnitOf(uint32_t number, uint32_t row) const {
    return 2 * (number / count) + row / 4;
  }
  BERTH_CARD_ONLY uint32_t OutputOf(uint32_t number, uint32_t row) const {
    return FewRow<4>(first + number % count, a.row_step, row % 4);
  }
  BERTH_CARD_ONLY const uint8_t* RowAt(uint32_t number, uint32_t row) const {
    const uint32_t unit = UnitOf(number, row), output = OutputOf(number, row);
    if (unit >= unit_count || output >= a.rows) return nullptr;
    const uint8_t* const matrix = units[unit].down;
    return matrix == nullptr ? nullptr : matrix + output * static_cast<uint32_t>(a.row_bytes[0]);
  }
};

template <typename F>
class FewDown : public FewBlock<F> {
  using Base = FewBlock<F>;
  using Base::a_, Base::args_, Base::list_, Base::local_;

 public:
  using Base::Base;

  BERTH_CARD_ONLY void Run() {
    const uint32_t units = Base::words()[kWordUnits];
    const uint32_t first = Begin(BlockIndex()), rows = Begin(BlockIndex() + 1) - first;
    const FewItems items = {a_, list_.units, units, first, rows};
    const uint32_t warp = ThreadIndex() / kWarp;
    const uint32_t all = (units + 1) / 2 * rows;
    FewStages<F, FewItems> stages(a_, Base::StagesOfWarp(), items, warp, all);
    if (a_.y != nullptr) KeepWeights();
    WaitForLastLaunch();
    NextLaunchMayStart();
    uint32_t at = warp;
    // As many units at a time as there is room for their inputs.
    for (uint32_t from = 0; from < units;) {
      const uint32_t to = EndOfWindow(from, units);
      if (from != 0) SyncBlock();
      const uint32_t place = list_.units[from].first;
      local_.Make(place, (to < units ? list_.units[to].first : Base::words()[kWordPairs]) - place);
      BERTH_NO_UNROLL
      for (; at < (to + 1) / 2 * rows; at += kFewWarps) Take(items, at, place, &stages);
      from = to;
    }
    if (a_.y != nullptr) Sum(items);
  }

 private:
  // Whether there is a pair, and its weight: to the scratch.
  BERTH_CARD_ONLY void KeepWeights() const {
    auto* const kept = reinterpret_cast<TwoWords*>(Base::scratch());
    for (uint32_t i = ThreadIndex(); i < a_.x_rows * a_.top_k; i += BlockThreads()) {
      const int32_t id = LoadShared(a_.ids + i);
      const bool there = id >= 0 && static_cast<uint32_t>(id) < a_.experts;
      const float weight = a_.weights_before ? 1.0f : LoadShared(a_.weights + i);
      kept[i] = {{there ? 1u : 0u, BitsOf(weight)}};
    }
  }

  // The first tile of a block.
  BERTH_CARD_ONLY uint32_t Begin(uint32_t block) const {
    return static_cast<uint32_t>(uint64_t{block} * args_.tiles / GridBlocks());
  }

  // Behind the last unit whose inputs fit with those from `from` on; even, or the end.
  BERTH_CARD_ONLY uint32_t EndOfWindow(uint32_t from, uint32_t units) const {
    const uint32_t place = list_.units[from].first, pairs = Base::words()[kWordPairs];
    if (pairs - place <= a_.local_rows) return units;
    const auto fits = [&](uint32_t end) {
      return (end < units ? list_.units[end].first : pairs) - place <= a_.local_rows;
    };
    const uint32_t end = from + 2 * (ThreadIndex() + 1);
    if (end < units && fits(end) && !fits(end + 2)) Base::words()[kWordEnd] = end;
    SyncBlock();
    const uint32_t found = Base::words()[kWordEnd];
    SyncBlock();
    return found;
  }

  BERTH_CARD_ONLY void Take(const FewItems& items, uint32_t at, uint32_t place,
                            FewStages<F, FewItems>* stages) const {
    stages->Begin(at);
    const uint32_t unit = items.UnitOf(at, 0);
    const uint32_t own = list_.units[unit].count;
    const uint32_t next = unit + 1 < items.unit_count ? list_.units[unit + 1].count : 0;
    const uint32_t count = own < next ? next : own;
    if (count == 1) {
      TakeSome<1>(items, at, place, stages);
    } else if (count == 2) {
      TakeSome<2>(items, at, place, stages);
    } else if (count <= 4) {
      TakeSome<4>(items, at, place, stages);
    } else {
      TakeSome<8>(items, at, place, stages);
    }
  }
  template <uint32_t kRows>
  BERTH_CARD_ONLY void TakeSome(const FewItems& items, uint32_t at, uint32_t place,
                                FewStages<F, FewItems>* stages) const {
    const uint32_t unit_at = items.UnitOf(at, Lane() % 8);
    const bool listed = unit_at < items.unit_count;
    const CardUnit& unit = list_.units[listed ? unit_at : unit_at - 1];
    uint32_t inputs[kRows];
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) {
      const uint32_t own = unit.first - place + (n < unit.count ? n : unit.count - 1);
      inputs[n] = own * local_.rows().stride;
    }
    float sums[kRows][2] = {};
    Base::AddItem(stages, inputs, sums);
    const uint32_t output = items.OutputOf(at, Lane() % 8);
    const bool there = listed && unit.down != nullptr && output < a_.rows;
    BERTH_UNROLL
    for (uint32_t first = 0; first < kRows; first += 4) {
      const float product = Base::ProductOf(sums, first);
      const uint32_t n = first + Lane() / 8;
      if (!there || n >= unit.count) continue;
      const uint32_t pair = list_.pairs[unit.first + n];
      const float partial = StorePartial(a_, unit.expert, pair, output, product);
      if (a_.y == nullptr) continue;
      Partials()[pair * 4 * items.count + 4 * (at % items.count) + Lane() % 4] = partial;
    }
  }
  BERTH_CARD_ONLY float* Partials() const {
    return reinterpret_cast<float*>(Base::shared_ + args_.at.sums);
  }

  // This block's part of y: products and sums rounded one by one, k ascending.
  BERTH_CARD_ONLY void Sum(const FewItems& items) const {
    SyncBlock();
    const auto* const kept = reinterpret_cast<const TwoWords*>(Base::scratch());
    const uint32_t own = 4 * items.count;
    for (uint32_t i = ThreadIndex(); i < a_.x_rows * own; i += BlockThreads()) {
      const uint32_t row = i / own, of_own = i - row * own;
      const uint32_t output = items.OutputOf(of_own / 4, of_own % 4);
      if (output >= a_.rows) continue;
      float sum = 0;
      for (uint32_t k = 0; k < a_.top_k; ++k) {
        const uint32_t pair = row * a_.top_k + k;
        const TwoWords weight = kept[pair];
        const float product = Mul(FloatOf(weight.words[1]), Partials()[pair * own + of_own]);
        if (weight.words[0] != 0) sum = gpu::Add(sum, product);
      }
      a_.y[static_cast<size_t>(row) * a_.rows + output] = Canonical(sum);
    }
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_DOWN_H_
