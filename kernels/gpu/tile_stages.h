// Tiles of weight rows and the stages that they come to shared memory in.
//
// A tile is two parts of rows that lie one after the other: rows of gate and the same rows of up,
// or twice as many rows of one matrix. Rows whose bytes are 2 more than a multiple of 4 alternate
// in alignment; then a part has twice the rows, taken in two passes of like ones (row_step 2).
#ifndef BERTH_KERNELS_GPU_TILE_STAGES_H_
#define BERTH_KERNELS_GPU_TILE_STAGES_H_

#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/row_sums.h"
#include "kernels/gpu/stage_copies.h"

namespace berth::kernels::gpu {

struct Part {
  const uint8_t* from = nullptr;  // null: none
  uint32_t rows = 0;
};

struct Tile {
  CardUnit unit;
  uint32_t unit_at = 0;
  uint32_t row = 0;  // its first output
  Part first, second;

  // Not an array: one that is indexed at run time lies in memory.
  BERTH_CARD_ONLY Part At(uint32_t part) const {
    Part at;
    at.from = part == 0 ? first.from : second.from;
    at.rows = part == 0 ? first.rows : second.rows;
    return at;
  }
};

// Tiles whose parts have kRows rows (times row_step).
template <typename F, uint32_t kRows>
class TileStages {
 public:
  // Called by the warp that fills the stages (`fills`) and by all that read them.
  BERTH_CARD_ONLY TileStages(const ProductArgs& a, uint8_t* stages, uint64_t* barriers, bool fills)
      : a_(a), stages_(stages), barriers_(barriers) {
    // Twice a part, or every row.
    copies_ = a.row_stride == 0 ? 2 : 2 * part_rows();
    tiles_ = (a.rows + tile_rows() - 1) / tile_rows();
    if (!fills) return;
    if (Lane() == 0) {
      for (uint32_t i = 0; i < a.depth; ++i) InitBarrier(barriers + i, copies_);
    }
    SyncWarp();
  }

  BERTH_CARD_ONLY uint32_t part_rows() const { return kRows * a_.row_step; }
  // Outputs of a tile.
  BERTH_CARD_ONLY uint32_t tile_rows() const { return part_rows() * (a_.matrices == 2 ? 1 : 2); }
  // Tiles of a unit.
  BERTH_CARD_ONLY uint32_t tiles() const { return tiles_; }

  BERTH_CARD_ONLY Tile Find(uint32_t number) const {
    Tile tile;
    tile.unit_at = number / tiles_;
    tile.unit = a_.list.units[tile.unit_at];
    tile.row = number % tiles_ * tile_rows();
    const uint8_t* const last = a_.down ? tile.unit.down : tile.unit.up;
    if (last == nullptr) return tile;
    tile.first = PartAt(a_.matrices == 2 ? tile.unit.gate : last, tile.row);
    tile.second = PartAt(last, a_.matrices == 2 ? tile.row : tile.row + part_rows());
    return tile;
  }

  // Asks for tile `number`, which is one of `count` or none.
  BERTH_CARD_ONLY void Fill(uint32_t number, uint32_t count, uint32_t stage) const {
    Tile tile;
    if (number < count) tile = Find(number);
    const auto row_bytes = static_cast<uint32_t>(a_.row_bytes[0]);
    const bool realigned = IsRealigned(tile);
    if (kBulkCopies && !realigned) {
      const uint32_t lane = Lane();
      if (number >= count || lane >= copies_) return;
      const uint32_t of_part = copies_ / 2, part = lane / of_part, row = lane % of_part;
      const Part from = tile.At(part);
      uint8_t* const to = PartOf(stage, part) + Head(from.from);
      if (a_.row_stride == 0) {
        CopyBulk(to, from.from, from.rows * row_bytes, barriers_ + stage);
      } else {
        CopyBulk(to + row * a_.row_stride, from.from + row * row_bytes,
                 row < from.rows ? row_bytes : 0, barriers_ + stage);
      }
      return;
    }
    BERTH_UNROLL
    for (uint32_t part = 0; part < 2; ++part) {
      const Part from = tile.At(part);
      uint8_t* const to = PartOf(stage, part) + HeadOf(from.from, realigned);
      const uint32_t pieces = a_.row_stride == 0 ? 1 : from.rows;
      const uint32_t bytes = a_.row_stride == 0 ? from.rows * row_bytes : row_bytes;
      for (uint32_t i = 0; i < pieces; ++i) {
        CopyToStage(to + i * a_.row_stride, from.from + i * bytes, bytes, realigned);
      }
    }
    ArriveAtStage(barriers_ + stage, copies_);
    CloseStage();
  }

  // By the warp that fills it.
  BERTH_CARD_ONLY void Wait(uint32_t stage, uint32_t fill) const {
    WaitForStage(barriers_ + stage, fill, a_.depth);
  }

  // Row 0 of a part, where it is to be read.
  BERTH_CARD_ONLY const uint8_t* RowsOf(const Tile& tile, uint32_t part, uint32_t stage) const {
    return PartOf(stage, part) + HeadOf(tile.At(part).from, IsRealigned(tile));
  }
  BERTH_CARD_ONLY uint32_t row_stride() const {
    return a_.row_stride == 0 ? static_cast<uint32_t>(a_.row_bytes[0]) : a_.row_stride;
  }

 private:
  BERTH_CARD_ONLY Part PartAt(const uint8_t* base, uint32_t row) const {
    Part to;
    const uint32_t most = part_rows();
    to.rows = row >= a_.rows ? 0 : a_.rows - row < most ? a_.rows - row : most;
    const auto row_bytes = static_cast<uint32_t>(a_.row_bytes[0]);
    to.from = to.rows == 0 ? nullptr : base + uint64_t{row} * row_bytes;
    return to;
  }
  BERTH_CARD_ONLY uint8_t* PartOf(uint32_t stage, uint32_t part) const {
    return stages_ + (2 * stage + part) * a_.part_bytes;
  }
  BERTH_CARD_ONLY static bool IsRealigned(const Tile& tile) {
    const uint8_t* const first = tile.first.from;
    return Realigned<F>(first, tile.second.from == nullptr ? first : tile.second.from);
  }

  const ProductArgs& a_;
  uint8_t* const stages_;
  uint64_t* const barriers_;
  uint32_t copies_ = 0;
  uint32_t tiles_ = 0;
};

// How often a format's table lies in shared memory, so that lanes rarely meet in a bank.
template <typename F, uint32_t kMostBytes>
constexpr uint32_t TableCopies() {
  uint32_t copies = 1;
  while (copies < kWarp && 2 * copies * F::kTableWords * 4 <= kMostBytes) copies *= 2;
  return F::kTableWords == 0 ? 0 : copies;
}
template <typename F, uint32_t kMostBytes>
inline constexpr uint32_t kTableCopies = TableCopies<F, kMostBytes>();

// Copies of a format's table into shared memory, by the whole block, which synchronizes behind it:
// a thread loads eight words, then stores them. `first`: where a thread's next ones begin, at first
// ThreadIndex().
template <typename F, uint32_t kCopies>
class TableFill {
 public:
  struct Words {
    uint32_t words[8];
  };
  BERTH_CARD_ONLY static Words Load(uint32_t first) {
    Words to;
    BERTH_UNROLL
    for (uint32_t n = 0; n < kLoads; ++n) {
      const uint32_t i = first + n * BlockThreads();
      to.words[n] = i < kCount ? F::TableWord(i / (kCopies / kAtOnce)) : 0;
    }
    return to;
  }
  BERTH_CARD_ONLY static void Store(uint32_t* to, uint32_t first, const Words& from) {
    BERTH_UNROLL
    for (uint32_t n = 0; n < kLoads; ++n) {
      const uint32_t i = first + n * BlockThreads(), word = from.words[n];
      if (i >= kCount) continue;
      if constexpr (kAtOnce == 4) {
        reinterpret_cast<FourWords*>(to)[i] = {{word, word, word, word}};
      } else {
        to[i] = word;
      }
    }
  }
  // From the thread's `first` on.
  BERTH_CARD_ONLY static void Fill(uint32_t* to, uint32_t first) {
    for (; first < kCount; first += kLoads * BlockThreads()) Store(to, first, Load(first));
  }
  BERTH_CARD_ONLY static uint32_t Next(uint32_t first) { return first + kLoads * BlockThreads(); }

 private:
  static constexpr uint32_t kLoads = 8;
  static constexpr uint32_t kAtOnce = kCopies % 4 == 0 ? 4 : 1;
  static constexpr uint32_t kCount = F::kTableWords * kCopies / kAtOnce;
};
template <typename F, uint32_t kCopies>
BERTH_CARD_ONLY void FillTableCopies(uint32_t* to) {
  TableFill<F, kCopies>::Fill(to, ThreadIndex());
}
template <uint32_t kCopies>
BERTH_CARD_ONLY CardTable TableOfLane(const uint32_t* table) {
  CardTable lookup;
  if constexpr (kCopies > 0) {
    lookup.at = table + Lane() % kCopies;
    lookup.copies = kCopies;
  }
  return lookup;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_TILE_STAGES_H_
