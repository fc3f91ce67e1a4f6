// The wide path of a format's tuned kernel: units of many pairs, by matrix instructions on BF16.
//
// A block takes tiles of a unit's weight rows with up to 112 of its pairs, a warp 16 rows: 8 of
// gate and the same 8 of up, or 16 of one matrix. Weights come as they lie into shared memory, 256
// columns of a row at a time, and each is taken apart once, straight into the registers that the
// matrix instruction reads: lane 4 g + t holds block t of every four of rows g and g + 8. So a step
// is 128 columns, in eight instructions of 16 columns, four of each lane's block; activations lie
// in the same order (wide_rows.h). All warps go through steps together; two stages of activations
// and two of weights are filled ahead, across tiles.
//
// What is computed does not depend on how pairs, rows and blocks are cut: a sum is one chain over
// the columns, 16 at a time, in this order.
#ifndef BERTH_KERNELS_GPU_WIDE_KERNEL_H_
#define BERTH_KERNELS_GPU_WIDE_KERNEL_H_

#include "kernels/gpu/card_matrix.h"
#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/tile_stages.h"
#include "kernels/gpu/wide_plan.h"
#include "kernels/gpu/wide_rows.h"
#include "kernels/gpu/wide_weights.h"

namespace berth::kernels::gpu {

// Of shared memory.
template <typename F>
inline constexpr uint32_t kWideTableBytes = WideLevels<F>::kTableWords * 4 * kWideLevelCopies;

#if BERTH_HAS_MATRIX_UNITS
template <typename F>
class WideBlock {
 public:
  // `shared`: WideSharedBytes of it.
  BERTH_CARD_ONLY WideBlock(const ProductArgs& a, uint8_t* shared, const CardTable& table)
      : a_(a), jobs_(reinterpret_cast<WideJob*>(shared)), table_(table) {
    auto* const levels = reinterpret_cast<uint32_t*>(shared + kWideJobs * sizeof(WideJob));
    weights_ = shared + kWideJobs * sizeof(WideJob) + kWideTableBytes<F>;
    if constexpr (kHasWideLevels<F>) {
      FillTableCopies<WideLevels<F>, kWideLevelCopies>(levels);
      levels_ = TableOfLane<kWideLevelCopies>(levels);
    }
    inputs_ = weights_ + 2 * Warps() * kWideWarpRows * kSlot;
    warp_ = ThreadIndex() / kWarp;
  }

  // All jobs of a share with the first `units` of the list. Returns the share's turn for what comes
  // behind them.
  BERTH_CARD_ONLY uint32_t Run(uint32_t units, uint32_t share) {
    share_ = share;
    // Looked up where jobs are described: registers are dear.
    if (ThreadIndex() == 0) Job(kWideJobs - 1).tile_count = units * TilesOfUnit();
    SyncBlock();
    Describe(0);
    SyncBlock();
    Describe(1);
    FillInputs(0, 0, 0);
    FillWeights(0, 0, 0);
    uint32_t step_stage = 0, chunk_stage = 0;
    const uint32_t steps = (a_.cols + kWideColumns - 1) / kWideColumns;
    for (uint32_t number = 0; Job(number).pairs != 0; ++number) {
      float sums[kTiles][4] = {};
      const Rows rows = RowsOf(Job(number));
      const uint32_t pairs = Job(number).pairs;
      BERTH_NO_UNROLL
      for (uint32_t step = 0; step < steps; ++step) {
        if (step % 2 == 0) {
          WaitForPieces<0>();
        } else {
          WaitForPieces<1>();  // the weights of the next chunk may be on their way
        }
        SyncBlock();
        const bool last = step + 1 == steps;
        FillInputs(last ? number + 1 : number, last ? 0 : step + 1, step_stage ^ 1);
        if (step % 2 == 0) {
          const bool next = step + 2 >= steps;
          FillWeights(next ? number + 1 : number, next ? 0 : step / 2 + 1, chunk_stage ^ 1);
        }
        if (step == 0) Describe(number + 2);
        Step(rows, pairs, step, chunk_stage, step_stage, sums);
        step_stage ^= 1;
        if (step % 2 != 0 || last) chunk_stage ^= 1;
      }
      Store(Job(number), sums);
    }
    WaitForPieces<0>();
    FenceBeforeBulkCopies();
    SyncBlock();
    const uint32_t blocks = GridBlocks();
    return (share + blocks - units * TilesOfUnit() % blocks) % blocks;
  }

 private:
  static constexpr uint32_t kSlot = WideSlotBytes(F::kBytes, F::kElements);
  static constexpr uint32_t kDescribers = 256;               // threads
  static constexpr uint32_t kTiles = kWideMostPairs / 8;     // of 8 pairs
  static constexpr uint32_t kInputBytes = 2 * kWideColumns;  // of a row in a stage
  static constexpr uint32_t kPiecesOfRow = kInputBytes / 16;
  static constexpr Reading kHow = kLie<F> == Lie::kAny     ? Reading::kBytes
                                  : kLie<F> == Lie::kWords ? Reading::kWords
                                                           : Reading::kEvens;

  BERTH_CARD_ONLY static uint32_t Warps() { return BlockThreads() / kWarp; }
  BERTH_CARD_ONLY uint32_t WarpOutputs() const {
    return a_.matrices == 2 ? kWideWarpRows / 2 : kWideWarpRows;
  }
  BERTH_CARD_ONLY uint32_t TileOutputs() const { return Warps() * WarpOutputs(); }
  BERTH_CARD_ONLY uint32_t TilesOfUnit() const {
    return (a_.rows + TileOutputs() - 1) / TileOutputs();
  }
  BERTH_CARD_ONLY WideJob& Job(uint32_t number) const { return jobs_[number % kWideJobs]; }
  // First output row of the warp.
  BERTH_CARD_ONLY uint32_t OutputOf(const WideJob& job) const {
    return job.row + warp_ * WarpOutputs();
  }
  static constexpr uint32_t kChunkBytes = kWideWeightColumns / F::kElements * F::kBytes;
  BERTH_CARD_ONLY uint32_t BytesOf(uint32_t chunk) const {
    const auto left = static_cast<uint32_t>(a_.row_bytes[0]) - chunk * kChunkBytes;
    return left < kChunkBytes ? left : kChunkBytes;
  }

  // Job `number` follows from the one before.
  BERTH_CARD_ONLY void Describe(uint32_t number) {
    const uint32_t self = ThreadIndex();
    uint32_t tile = share_, pass = 0;
    const WideJob& before = Job(number + kWideJobs - 1);
    const uint32_t tile_count = before.tile_count;
    if (number > 0) {
      const bool same = before.pass + 1 < before.passes;
      tile = same ? before.tile : before.tile + GridBlocks();
      pass = same ? before.pass + 1 : 0;
    }
    WideJob& to = Job(number);
    if (self == 0) to.tile_count = tile_count;
    if (tile >= tile_count) {
      if (self == 0) {
        to.tile = tile;
        to.pass = to.pairs = 0;
        to.passes = 1;
      }
      return;
    }
    if (self >= kDescribers) return;
    const uint32_t unit_at = tile / TilesOfUnit();
    const CardUnit unit = a_.list.units[unit_at];
    // As few passes as there can be, alike but for what is left over.
    const uint32_t passes = (unit.count + a_.wide_pairs - 1) / a_.wide_pairs;
    const uint32_t of_pass = ((unit.count + passes - 1) / passes + 15) / 16 * 16;
    const uint32_t pair = pass * of_pass;
    const uint32_t pairs = unit.count - pair < of_pass ? unit.count - pair : of_pass;
    const uint32_t row = tile % TilesOfUnit() * TileOutputs();
    const uint8_t* const up = a_.down ? unit.down : unit.up;
    const uint8_t* const gate = a_.matrices == 2 ? unit.gate : up;
    for (uint32_t i = self; i < Warps() * kWideWarpRows; i += kDescribers) {
      const uint32_t in_warp = a_.matrices == 2 ? i % 8 : i % kWideWarpRows;
      const uint32_t output = row + i / kWideWarpRows * WarpOutputs() + in_warp;
      // Behind the last row lies that row again.
      const uint32_t there = output < a_.rows ? output : a_.rows - 1;
      to.rows[i] = (i % kWideWarpRows < 8 ? gate : up) + there * a_.row_bytes[0];
    }
    if (self < kWideMostPairs) {
      const uint32_t place = unit.first + pair + (self < pairs ? self : 0);
      const uint32_t input = a_.down ? place : a_.list.pairs[place] / a_.top_k;
      to.inputs[self] = reinterpret_cast<const uint8_t*>(a_.wide.at + static_cast<size_t>(input) *
                                                                          a_.wide.stride);
    }
    if (self != 0) return;
    to.tile = tile;
    to.pass = pass;
    to.passes = passes;
    to.unit_at = unit_at;
    to.expert = unit.expert;
    to.first = unit.first;
    to.count = unit.count;
    to.pair = pair;
    to.pairs = pairs;
    to.row = row;
    to.there = up != nullptr;
    // Weights that decoders cannot read where they lie.
    const auto low =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(up) | reinterpret_cast<uintptr_t>(gate));
    to.realigned = kLie<F> != Lie::kAny && (low & (kLie<F> == Lie::kWords ? 3 : 1)) != 0;
  }

  BERTH_CARD_ONLY uint8_t* InputStage(uint32_t stage) const {
    return inputs_ + stage * a_.wide_pairs * kInputBytes;
  }
  // Four pieces of each lane's block in turn; of rows with odd numbers the second four come first,
  // so that the loads of a matrix operand meet all banks.
  BERTH_CARD_ONLY static uint32_t PieceAt(uint32_t pair, uint32_t piece) {
    return pair * kInputBytes + 16 * (piece ^ (pair % 2 * 4));
  }
  BERTH_CARD_ONLY void FillInputs(uint32_t number, uint32_t step, uint32_t stage) {
    const WideJob& job = Job(number);
    const uint32_t pairs = (job.pairs + 15) / 16 * 16;
    const uint32_t piece = ThreadIndex() % kPiecesOfRow;
    const uint32_t at = step * kInputBytes + 16 * piece;
    BERTH_NO_UNROLL
    for (uint32_t pair = ThreadIndex() / kPiecesOfRow; pair < pairs;
         pair += BlockThreads() / kPiecesOfRow) {
      CopyPiece(InputStage(stage) + PieceAt(pair, piece), job.inputs[pair] + at, 0, 16);
    }
    ClosePieces();
  }

  BERTH_CARD_ONLY uint8_t* Slot(uint32_t stage, uint32_t row) const {
    return weights_ + ((stage * Warps() + warp_) * kWideWarpRows + row) * kSlot;
  }
  // The warp's own rows.
  BERTH_CARD_ONLY void FillWeights(uint32_t number, uint32_t chunk, uint32_t stage) {
    const WideJob& job = Job(number);
    if (job.pairs != 0 && job.there) {
      const uint32_t bytes = BytesOf(chunk);
      const uint8_t* const* const rows = job.rows + warp_ * kWideWarpRows;
      if (job.realigned) {
        for (uint32_t row = 0; row < kWideWarpRows; ++row) {
          CopyRealigned(Slot(stage, row), rows[row] + chunk * kChunkBytes, bytes);
        }
      } else {
        constexpr uint32_t kPieces = (kChunkBytes + 30) / 16;
        BERTH_UNROLL
        for (uint32_t i = 0; i < (kWideWarpRows * kPieces + kWarp - 1) / kWarp; ++i) {
          const uint32_t row = (i * kWarp + Lane()) / kPieces;
          const uint32_t at = (i * kWarp + Lane()) % kPieces * 16;
          if (row >= kWideWarpRows) continue;
          const uint8_t* const from = rows[row] + chunk * kChunkBytes;
          const uint32_t head = Head(from), end = head + bytes;
          if (at >= end) continue;
          CopyPiece(Slot(stage, row) + at, from - head + at, at < head ? head - at : 0,
                    end - at < 16 ? end - at : 16);
        }
      }
    }
    ClosePieces();
  }

  // What of a job does not change from step to step, for the lane's two weight rows.
  struct Rows {
    bool there;
    uint32_t heads[2];  // of chunk 0
    uint32_t head_mask;
  };
  BERTH_CARD_ONLY Rows RowsOf(const WideJob& job) const {
    Rows rows;
    rows.there = job.there && OutputOf(job) < a_.rows;
    rows.head_mask = job.realigned ? 0 : 15;
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      rows.heads[r] = Head(job.rows[warp_ * kWideWarpRows + Lane() / 4 + 8 * r]);
    }
    return rows;
  }

  BERTH_CARD_ONLY void Step(const Rows& rows, uint32_t pairs, uint32_t step, uint32_t chunk_stage,
                            uint32_t step_stage, float (&sums)[kTiles][4]) {
    if (!rows.there) return;
    constexpr uint32_t kBlockParts = F::kElements / 32;
    const uint32_t g = Lane() / 4, t = Lane() % 4;
    WideBlockOf<F> weights[2];
    if (4 * step + t < a_.cols / 32) {
      const uint32_t block = step % 2 * 4 + t;  // of the chunk
      const uint8_t* const slot = Slot(chunk_stage, g) + block / kBlockParts * F::kBytes;
      BERTH_UNROLL
      for (uint32_t r = 0; r < 2; ++r) {
        const uint32_t head = (rows.heads[r] + step / 2 * kChunkBytes) & rows.head_mask;
        Load(slot + 8 * r * kSlot, head, block % kBlockParts, &weights[r]);
      }
    } else {
      weights[0].Clear();
      weights[1].Clear();
    }
    const uint8_t* const input = InputStage(step_stage);
    Quarter<0>(weights, input, pairs, sums);
    Quarter<1>(weights, input, pairs, sums);
    Quarter<2>(weights, input, pairs, sums);
    Quarter<3>(weights, input, pairs, sums);
  }

  BERTH_CARD_ONLY void Load(const uint8_t* slot, uint32_t head, uint32_t sub,
                            WideBlockOf<F>* weights) const {
    if constexpr (kLie<F> == Lie::kAlternate) {
      if ((head & 2) != 0) {
        weights->template Load<Reading::kHalves>(slot + head, sub, table_);
      } else {
        weights->template Load<Reading::kWords>(slot + head, sub, table_);
      }
    } else {
      weights->template Load<kHow>(slot + head, sub, table_);
    }
  }

  // Eight weights of each lane's blocks.
  template <uint32_t kQuarter>
  BERTH_CARD_ONLY void Quarter(WideBlockOf<F> (&weights)[2], const uint8_t* input, uint32_t pairs,
                               float (&sums)[kTiles][4]) {
    uint32_t one[4], other[4];
    weights[0].template Take<kQuarter>(levels_, one);
    weights[1].template Take<kQuarter>(levels_, other);
    const uint32_t first[4] = {one[0], other[0], one[1], other[1]};
    const uint32_t second[4] = {one[2], other[2], one[3], other[3]};
    const uint8_t* const at = input + PieceAt(Lane() / 4, 4 * kQuarter + Lane() % 4);
    BERTH_UNROLL
    for (uint32_t tile = 0; tile < kTiles; tile += 2) {
      if (tile * 8 >= pairs) break;
      FourWords b[2];
      BERTH_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        b[i] = *reinterpret_cast<const FourWords*>(at + (tile + i) * 8 * kInputBytes);
      }
      BERTH_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        MultiplyAdd(sums[tile + i], first, {b[i].words[0], b[i].words[1]});
      }
      BERTH_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        MultiplyAdd(sums[tile + i], second, {b[i].words[2], b[i].words[3]});
      }
    }
  }

  BERTH_CARD_ONLY void Store(const WideJob& job, float (&sums)[kTiles][4]) {
    const uint32_t output = OutputOf(job);
    if (output >= a_.rows) return;
    CardUnit unit;
    unit.expert = job.expert;
    unit.first = job.first;
    unit.count = job.count;
    const uint32_t g = Lane() / 4, t = Lane() % 4;
    if (job.there) {
      // The sums move up, so that they stay registers though this is a loop.
      BERTH_NO_UNROLL
      for (uint32_t first = 0; first < job.pairs; first += 8) {
        BERTH_UNROLL
        for (uint32_t i = 0; i < 2; ++i) {
          const uint32_t n = first + 2 * t + i;
          if (n >= job.pairs) continue;
          StorePair(unit, job.first + job.pair + n, output + g, sums[0][i], sums[0][2 + i]);
        }
        BERTH_UNROLL
        for (uint32_t tile = 0; tile + 1 < kTiles; ++tile) {
          BERTH_UNROLL
          for (uint32_t i = 0; i < 4; ++i) sums[tile][i] = sums[tile + 1][i];
        }
      }
    }
  }

  // Products of rows `row` (of gate, or of the one matrix) and of the one in the instruction's
  // other half.
  BERTH_CARD_ONLY void StorePair(const CardUnit& unit, uint32_t place, uint32_t row, float one,
                                 float other) {
    one = Canonical(one);
    other = Canonical(other);
    if (a_.matrices == 2) {
      if (row < a_.rows)
        StoreActivation(a_, unit.expert, place, row, one, other, DownIsWide(a_, unit));
      return;
    }
    BERTH_NO_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      const uint32_t self = row + 8 * r;
      const float product = r == 0 ? one : other;
      if (self >= a_.rows) continue;
      if (a_.down) {
        StorePartial(a_, unit.expert, a_.list.pairs[place], self, product);
      } else {
        StoreActivation(a_, unit.expert, place, self, product, product, DownIsWide(a_, unit));
      }
    }
  }

  const ProductArgs& a_;
  WideJob* const jobs_;
  const CardTable table_;
  CardTable levels_;
  uint8_t* weights_ = nullptr;
  uint8_t* inputs_ = nullptr;
  uint32_t warp_ = 0;
  uint32_t share_ = 0;
};
#else
template <typename F>
class WideBlock;
#endif

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_KERNEL_H_
