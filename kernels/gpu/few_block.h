// What the blocks of both kernels for few pairs have in common (few_kernel.h).
#ifndef BERTH_KERNELS_GPU_FEW_BLOCK_H_
#define BERTH_KERNELS_GPU_FEW_BLOCK_H_

#include "kernels/gpu/few_list.h"
#include "kernels/gpu/few_stages.h"
#include "kernels/gpu/local_rows.h"
#include "kernels/gpu/tile_stages.h"

namespace berth::kernels::gpu {

// More copies would cost more in stages than they save in banks that are met twice.
constexpr uint32_t FewCopies(uint32_t copies) { return copies < 16 ? copies : 16; }
template <typename F>
inline constexpr uint32_t kFewCopies = FewCopies(kTableCopies<F, kFewTableBytes>);

// Row `i` of `kRows` that tile `tile` takes: where rows lie at alternating addresses, every second.
template <uint32_t kRows>
BERTH_CARD_ONLY uint32_t FewRow(uint32_t tile, uint32_t row_step, uint32_t i) {
  if (row_step == 1) return kRows * tile + i;
  return 2 * (kRows * (tile / 2) + i) + tile % 2;
}

// All of a block's threads call the same.
template <typename F>
class FewBlock {
 public:
  BERTH_CARD_ONLY FewBlock(const FewArgs& args, uint8_t* shared)
      : args_(args),
        a_(args.product),
        shared_(shared),
        local_(a_, shared + args.at.local, F::kKind.minima && F::kKind.halves) {}

  BERTH_CARD_ONLY void FillTable() const {
    constexpr uint32_t kCopies = kFewCopies<F>;
    if constexpr (kCopies > 0) {
      FillTableCopies<F, kCopies>(reinterpret_cast<uint32_t*>(shared_ + args_.at.table));
    }
  }
  BERTH_CARD_ONLY void List() { list_ = ListInBlock(args_, shared_); }

 protected:
  // The inputs of up to kRows pairs, from a column on, with a stretch of the lane's weight row.
  template <uint32_t kRows>
  BERTH_CARD_ONLY void Add(const uint8_t* row, uint32_t col, uint32_t blocks,
                           const uint32_t (&inputs)[kRows], float (&sums)[kRows][2]) const {
    RowInputs<kRows> rows;
    rows.bytes = local_.rows();
    BERTH_UNROLL
    for (uint32_t n = 0; n < kRows; ++n) rows.offsets[n] = inputs[n] + col;
    const uint32_t odd = (SharedAddress(row) >> 1) & 1;
    const CardTable table =
        TableOfLane<kFewCopies<F>>(reinterpret_cast<const uint32_t*>(shared_ + args_.at.table));
    AddRow<F, kRows>(row, Lane() / 8, blocks, odd, table, rows, sums);
  }
  // All columns of an item.
  template <uint32_t kRows, typename Stages>
  BERTH_CARD_ONLY void AddItem(Stages* stages, const uint32_t (&inputs)[kRows],
                               float (&sums)[kRows][2]) const {
    BERTH_NO_UNROLL
    for (uint32_t col = 0; col < a_.cols; col += a_.chunk_cols) {
      const uint32_t left = a_.cols - col;
      const uint32_t blocks = (left < a_.chunk_cols ? left : a_.chunk_cols) / 32;
      const uint8_t* const row = stages->Wait(col);
      if constexpr (kRows <= 4) {
        Add<kRows>(row, col, blocks, inputs, sums);
      } else {
        AddHalf<kRows, 0>(row, col, blocks, inputs, sums);
        AddHalf<kRows, kRows / 2>(row, col, blocks, inputs, sums);
      }
      stages->Next();
    }
  }
  // The product with pair Lane() / 8 of four, of the lane's weight row (Lane() % 8).
  template <uint32_t kRows>
  BERTH_CARD_ONLY static float ProductOf(float (&sums)[kRows][2], uint32_t first) {
    float product = 0;
    BERTH_UNROLL
    for (uint32_t n = 0; n < (kRows < 4 ? kRows : 4); ++n) {
      const float total = SumOfFourLanes(sums[first + n]);
      if (Lane() / 8 == n) product = total;
    }
    return product;
  }
  BERTH_CARD_ONLY uint32_t* words() const { return reinterpret_cast<uint32_t*>(shared_); }
  BERTH_CARD_ONLY uint32_t* scratch() const {
    return reinterpret_cast<uint32_t*>(shared_ + args_.at.scratch);
  }
  BERTH_CARD_ONLY uint8_t* StagesOfWarp() const {
    return shared_ + args_.at.stages + ThreadIndex() / kWarp * a_.depth * 8 * a_.row_stride;
  }

  const FewArgs& args_;
  const ProductArgs& a_;
  uint8_t* const shared_;
  const LocalRows local_;
  WorkList list_;

 private:
  template <uint32_t kRows, uint32_t kFirst>
  BERTH_CARD_ONLY void AddHalf(const uint8_t* row, uint32_t col, uint32_t blocks,
                               const uint32_t (&inputs)[kRows], float (&sums)[kRows][2]) const {
    constexpr uint32_t kHalf = kRows / 2;
    uint32_t own_inputs[kHalf];
    float own[kHalf][2];
    BERTH_UNROLL
    for (uint32_t n = 0; n < kHalf; ++n) {
      own_inputs[n] = inputs[kFirst + n];
      own[n][0] = sums[kFirst + n][0];
      own[n][1] = sums[kFirst + n][1];
    }
    Add<kHalf>(row, col, blocks, own_inputs, own);
    BERTH_UNROLL
    for (uint32_t n = 0; n < kHalf; ++n) {
      sums[kFirst + n][0] = own[n][0];
      sums[kFirst + n][1] = own[n][1];
    }
  }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FEW_BLOCK_H_
