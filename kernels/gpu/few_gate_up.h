// A block of gate and up, for few pairs (few_kernel.h): shares of tiles of like work.
#ifndef BERTH_KERNELS_GPU_FEW_GATE_UP_H_
#define BERTH_KERNELS_GPU_FEW_GATE_UP_H_

#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/few_block.h"
#include "kernels/gpu/shares.h"

namespace berth::kernels::gpu {

// Tiles of gate and up: four rows of each, or eight of the one matrix.
struct FewTiles {
  const ProductArgs& a;
  const CardUnit* units;
  uint32_t tiles;  // of a unit

  BERTH_CARD_ONLY uint32_t OutputOf(uint32_t tile, uint32_t row) const {
    return a.matrices == 2 ? FewRow<4>(tile, a.row_step, row % 4)
                           : FewRow<8>(tile, a.row_step, row);
  }
  BERTH_CARD_ONLY const uint8_t* RowAt(uint32_t number, uint32_t row) const {
    const uint32_t unit = number / tiles;
    const uint32_t output = OutputOf(number - unit * tiles, row);
    const bool gate = a.matrices == 2 && row < 4;
    const uint8_t* const matrix = gate ? units[unit].gate : units[unit].up;
    if (matrix == nullptr || output >= a.rows) return nullptr;
    return matrix + output * static_cast<uint32_t>(a.row_bytes[0]);
  }
};

template <typename F>
class FewGateUp : public FewBlock<F> {
  using Base = FewBlock<F>;
  using Base::a_, Base::args_, Base::list_, Base::local_;

 public:
  using Base::Base;

  BERTH_CARD_ONLY void Run() {
    const Share share = FindShare();
    const uint32_t warp = ThreadIndex() / kWarp;
    const FewTiles tiles = {a_, list_.units, args_.tiles};
    FewStages<F, FewTiles> stages(a_, Base::StagesOfWarp(), tiles, share.begin + warp, share.end);
    MakeInputs(share);
    BERTH_NO_UNROLL
    for (uint32_t at = share.begin + warp; at < share.end; at += kFewWarps) {
      const CardUnit& unit = list_.units[at / args_.tiles];
      stages.Begin(at);
      if (unit.count == 1) {
        Take<1>(tiles, at, unit, &stages);
      } else if (unit.count == 2) {
        Take<2>(tiles, at, unit, &stages);
      } else if (unit.count <= 4) {
        Take<4>(tiles, at, unit, &stages);
      } else {
        Take<8>(tiles, at, unit, &stages);
      }
    }
  }

 private:
  // Of a tile, beside one for each pair.
  static constexpr uint32_t kOfWeights = 4;
  struct Share {
    uint32_t begin, end;
  };

  BERTH_CARD_ONLY Share FindShare() const {
    uint32_t* const words = Base::words();
    FindTiles<kOfWeights>(list_.units, 0, words[kWordUnits], words[kWordPairs], args_.tiles,
                          BlockIndex(), words + kWordBegin);
    return {words[kWordBegin], words[kWordEnd]};
  }

  // The rows of x that the share's units need, in 8 bits, each at its own place; and where each
  // pair's lies, in the scratch. Synchronizes behind it.
  BERTH_CARD_ONLY void MakeInputs(const Share& share) const {
    uint32_t* const needed = Base::scratch();
    uint32_t* const inputs = needed + kFewMostRows;
    if (ThreadIndex() < kFewMostRows) needed[ThreadIndex()] = 0;
    SyncBlock();
    if (share.begin < share.end) {
      const CardUnit& last = list_.units[(share.end - 1) / args_.tiles];
      const uint32_t begin = list_.units[share.begin / args_.tiles].first;
      const uint32_t end = last.first + last.count;
      for (uint32_t i = begin + ThreadIndex(); i < end; i += BlockThreads()) {
        const uint32_t row = list_.pairs[i] / a_.top_k;
        AtomicAdd(needed + row, 1);
        inputs[i] = row * local_.rows().stride;
      }
    }
    SyncBlock();
    const uint32_t pieces = (a_.cols + 127) / 128;
    for (uint32_t i = ThreadIndex() / kWarp; i < a_.x_rows * pieces; i += kFewWarps) {
      const uint32_t row = i / pieces;
      if (needed[row] != 0) QuantizePiece(row, i - row * pieces);
    }
    SyncBlock();
  }
  BERTH_CARD_ONLY void QuantizePiece(uint32_t row, uint32_t piece) const {
    const uint32_t col = 128 * piece + 4 * Lane();
    const bool there = col < a_.cols;
    const float* const from = a_.x + static_cast<size_t>(row) * a_.cols + col;
    float x[4];
    BERTH_UNROLL
    for (uint32_t n = 0; n < 4; ++n) x[n] = there ? LoadShared(from + n) : 0.0f;
    QuantizeBlocks(x, local_.rows(), row, col / 32, there);
  }

  template <uint32_t kRows>
  BERTH_CARD_ONLY void Take(const FewTiles& tiles, uint32_t at, const CardUnit& unit,
                            FewStages<F, FewTiles>* stages) const {
    const uint32_t* const of_unit = Base::scratch() + kFewMostRows + unit.first;
    uint32_t inputs[kRows];
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) inputs[n] = of_unit[n < unit.count ? n : unit.count - 1];
    float sums[kRows][2] = {};
    Base::AddItem(stages, inputs, sums);
    if (unit.up == nullptr) return;
    const uint32_t row = tiles.OutputOf(at % args_.tiles, Lane() % 8);
    BERTH_UNROLL
    for (uint32_t first = 0; first < kRows; first += 4) {
      const float product = Base::ProductOf(sums, first);
      const float other = LaneXor(product, 4u);
      const uint32_t n = first + Lane() / 8;
      const bool stores = a_.matrices == 1 || Lane() % 8 < 4;
      if (!stores || n >= unit.count || row >= a_.rows) continue;
      const uint32_t place = unit.first + n;
      const float weight = a_.weights_before ? a_.weights[list_.pairs[place]] : 1.0f;
      StoreWeighted(a_, unit.expert, place, row, weight, product,
                    a_.matrices == 2 ? other : product, false);
    }
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_GATE_UP_H_
