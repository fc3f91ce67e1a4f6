// The wide path of a format's tuned kernel: units of many pairs, by matrix instructions on BF16.
//
// A block takes tiles of a unit's weight rows with up to 112 of its pairs, a warp 16 rows: 8 of
// gate and the same 8 of up, or 16 of one matrix. Weights come as they lie into shared memory, 256
// columns of a row at a time, and each is taken apart once, straight into the registers that the
// matrix instruction reads: lane 4 g + t holds block t of every four of rows g and g + 8. So a step
// is 128 columns, in eight instructions of 16 columns, four of each lane's block; activations lie
// in the same order (wide_rows.h). Where four warps multiply together, the matrix units read
// activations by themselves, once for the four (card_matrix.h). All warps go through steps
// together; two stages of activations and two of weights are filled ahead, across tiles.
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
  // `shared`: WideSharedBytes of it. `points`: kWidePointTableWords<F>, to be filled.
  BERTH_CARD_ONLY WideBlock(const ProductArgs& a, uint8_t* shared, const CardTable& table,
                            [[maybe_unused]] uint32_t* points)
      : a_(a), jobs_(reinterpret_cast<WideJob*>(shared)), table_(table) {
    auto* const levels = reinterpret_cast<uint32_t*>(shared + kWideJobs * sizeof(WideJob));
    weights_ = shared + kWideJobs * sizeof(WideJob) + kWideTableBytes<F>;
    if constexpr (kHasWideLevels<F>) {
      FillTableCopies<WideLevels<F>, kWideLevelCopies>(levels);
      levels_ = TableOfLane<kWideLevelCopies>(levels);
    }
    if constexpr (kHasWidePoints<F>) {
      FillWidePoints<F>(points, ThreadIndex(), BlockThreads());
      levels_ = WidePointsOfLane(points, Lane());
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
    uint32_t stage = 0, chunk_stage = 0;
    const uint32_t steps = (a_.cols + kWideColumns - 1) / kWideColumns;
    for (uint32_t number = 0; Job(number).pairs != 0; ++number) {
      float sums[kTiles][4] = {};
      Places places = {};
      const uint32_t tiles = TilesOf(Job(number));
      const bool has = Has(Job(number));
      BERTH_NO_UNROLL
      for (uint32_t step = 0; step < steps; ++step) {
        const bool even = step % 2 == 0, last = step + 1 == steps;
        if (even) {
          WaitForPieces<0>();
        } else {
          WaitForPieces<1>();  // the weights of the next chunk may be on their way
        }
        EndProducts<0>();
        FenceBeforeProducts();
        SyncBlock();
        FillInputs(last ? number + 1 : number, last ? 0 : step + 1, stage ^ 1);
        if (step == 0) Describe(number + 2);
        if (has) {
          if (even) places = PlacesOf(Job(number), step / 2, chunk_stage);
          Multiply(places, step, stage, tiles, sums);
        }
        // Not with the activations: what copies has to wait for room then.
        if (even) {
          const bool next = step + 2 >= steps;
          FillWeights(next ? number + 1 : number, next ? 0 : step / 2 + 1, chunk_stage ^ 1);
        }
        stage ^= 1;
        if (!even || last) chunk_stage ^= 1;
      }
      EndProducts<0>();
      ReadSums(sums);
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
  static constexpr uint32_t kDescribers = 256;            // threads
  static constexpr uint32_t kTiles = kWideMostPairs / 8;  // of 8 pairs
  // Matrix instructions at a time, of the eight of a step: what registers hold.
  static constexpr uint32_t kPart = 4;
  static_assert(kTiles == kMatrixMostTiles);
  static constexpr uint32_t kInputBytes = 2 * kWideColumns;  // of a row in a stage
  static constexpr uint32_t kPiecesOfRow = kInputBytes / 16;
  // Where blocks alternate, too: branches keep loads from being under way together.
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
        to.weights = kNoWeightRows;
      }
      return;
    }
    if (self >= kDescribers) return;
    const CardUnit unit = a_.list.units[tile / TilesOfUnit()];
    // As few passes as there can be, alike but for what is left over.
    const uint32_t passes = (unit.count + a_.wide_pairs - 1) / a_.wide_pairs;
    const uint32_t of_pass = ((unit.count + passes - 1) / passes + 7) / 8 * 8;
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
      const uint32_t number = a_.list.pairs[place];
      const uint32_t input = a_.down ? place : number / a_.top_k;
      to.numbers[self] = number;
      to.inputs[self] = input * (a_.wide.stride / 8);
    }
    if (self != 0) return;
    to.tile = tile;
    to.pass = pass;
    to.passes = passes;
    to.expert = unit.expert;
    to.first = unit.first;
    to.count = unit.count;
    to.pair = pair;
    to.pairs = pairs;
    to.row = row;
    // Which weights decoders cannot read where they lie.
    const auto low =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(up) | reinterpret_cast<uintptr_t>(gate));
    const bool moved = kLie<F> != Lie::kAny && (low & (kLie<F> == Lie::kWords ? 3 : 1)) != 0;
    to.weights = up == nullptr ? kNoWeightRows : moved ? kWeightRowsMoved : kWeightRowsAsTheyLie;
  }

  BERTH_CARD_ONLY static uint32_t TilesOf(const WideJob& job) {
    const uint32_t tiles = (FromLane(job.pairs, 0) + 7) / 8;
    return tiles < 2 ? 2 : tiles;
  }
  BERTH_CARD_ONLY uint8_t* InputStage(uint32_t stage) const {
    return inputs_ + stage * WideInputBytes(a_.wide_pairs);
  }
  // Of a part of a step.
  BERTH_CARD_ONLY MatrixRows InputsAt(uint32_t stage, uint32_t part) const {
    const uint32_t apart = WidePiecesApart(a_.wide_pairs);
    return {InputStage(stage) + part * 2 * kPart * apart, apart};
  }
  BERTH_CARD_ONLY static void CopyInputs(uint8_t* to, uint32_t apart, const uint8_t* from) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < kPiecesOfRow; i += 4) {
      CopyPiece(to + i * apart, from + 16 * i, 0, 16);
    }
  }
  BERTH_CARD_ONLY void FillInputs(uint32_t number, uint32_t step, uint32_t stage) {
    const WideJob& job = Job(number);
    const uint32_t pairs = (job.pairs + 7) / 8 * 8;
    // A thread copies every fourth piece of a row, so that it looks up one place and all copies go
    // by the same address: one that is overwritten next would have to be waited for.
    const uint32_t piece = ThreadIndex() % 4;
    const uint8_t* const at =
        reinterpret_cast<const uint8_t*>(a_.wide.at) + step * kInputBytes + 16 * piece;
    const uint32_t apart = WidePiecesApart(a_.wide_pairs);
    for (uint32_t pair = ThreadIndex() / 4; pair < pairs; pair += BlockThreads() / 4) {
      const uint8_t* const from = at + size_t{16} * job.inputs[pair];
      uint8_t* const to = InputStage(stage) + piece * apart + pair * 16;
      if (a_.wide_pairs == kWideMostPairs) {
        CopyInputs(to, WidePiecesApart(kWideMostPairs), from);  // a constant
      } else {
        CopyInputs(to, apart, from);
      }
    }
    ClosePieces();
  }

  BERTH_CARD_ONLY uint8_t* Slot(uint32_t stage, uint32_t row) const {
    return weights_ + ((stage * Warps() + warp_) * kWideWarpRows + row) * kSlot;
  }
  // The warp's own rows.
  BERTH_CARD_ONLY void FillWeights(uint32_t number, uint32_t chunk, uint32_t stage) {
    const WideJob& job = Job(number);
    const uint32_t weights = job.weights;
    if (weights != kNoWeightRows) {
      const uint32_t bytes = BytesOf(chunk);
      const uint8_t* const* const rows = job.rows + warp_ * kWideWarpRows;
      if (weights == kWeightRowsMoved) {
        for (uint32_t row = 0; row < kWideWarpRows; ++row) {
          CopyRealigned(Slot(stage, row), rows[row] + chunk * kChunkBytes, bytes);
        }
      } else {
        // As activations: every fourth piece of rows g and g + 8.
        constexpr uint32_t kPieces = (kChunkBytes + 30) / 16;
        BERTH_UNROLL
        for (uint32_t r = 0; r < 2; ++r) {
          const uint32_t row = Lane() / 4 + 8 * r, first = Lane() % 4 * 16;
          const uint8_t* const from = rows[row] + chunk * kChunkBytes;
          const uint32_t head = Head(from), end = head + bytes;
          uint8_t* const to = Slot(stage, row) + first;
          BERTH_UNROLL
          for (uint32_t i = 0; i < kPieces; i += 4) {
            const uint32_t at = first + 16 * i;
            if (at >= end) break;
            CopyPiece(to + 16 * i, from - head + first + 16 * i, at < head ? head - at : 0,
                      end - at < 16 ? end - at : 16);
          }
        }
      }
    }
    ClosePieces();
  }

  // Whether the warp has rows: all four that take products together have, or none.
  BERTH_CARD_ONLY bool Has(const WideJob& job) const {
    return job.weights != kNoWeightRows && job.row + warp_ / 4 * 4 * WarpOutputs() < a_.rows;
  }
  // Where a chunk of the lane's two weight rows begins, behind weights_.
  struct Places {
    uint32_t rows[2];
  };
  BERTH_CARD_ONLY Places PlacesOf(const WideJob& job, uint32_t chunk, uint32_t stage) const {
    Places places;
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      const uint32_t row = Lane() / 4 + 8 * r;
      const uint8_t* const from = job.rows[warp_ * kWideWarpRows + row] + chunk * kChunkBytes;
      places.rows[r] = static_cast<uint32_t>(Slot(stage, row) - weights_) +
                       (job.weights == kWeightRowsMoved ? 0 : Head(from));
    }
    return places;
  }

  // Of the lane's two rows.
  struct Weights {
    WideBlockOf<F> rows[2];
  };
  BERTH_CARD_ONLY void Load(const Places& places, uint32_t step, Weights* weights) const {
    constexpr uint32_t kBlockParts = F::kElements / 32;
    const uint32_t t = Lane() % 4;
    // Behind the last block: another one, times zero.
    const bool there = 4 * step + t < a_.cols / 32;
    const uint32_t block = step % 2 * 4 + (there ? t : 0);  // of the chunk
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      weights->rows[r].template Load<kHow>(
          weights_ + places.rows[r] + block / kBlockParts * F::kBytes, block % kBlockParts, table_);
      if (!there) weights->rows[r].Clear();
    }
  }
  // A step's products, which are under way then. Nothing else lies in between: weights that have
  // been loaded would not stay in registers.
  BERTH_CARD_ONLY void Multiply(const Places& places, uint32_t step, uint32_t stage, uint32_t tiles,
                                float (&sums)[kTiles][4]) const {
    Weights weights;
    Load(places, step, &weights);
    uint32_t operands[kPart][4];
    Take<0>(&weights, operands);
    BeginProducts(sums, operands, InputsAt(stage, 0), tiles);
    EndProducts<0>();
    Take<1>(&weights, operands);
    BeginProducts(sums, operands, InputsAt(stage, 1), tiles);
  }
  // Operands of part kNumber of a step.
  template <uint32_t kNumber>
  BERTH_CARD_ONLY void Take(Weights* weights, uint32_t (&to)[kPart][4]) const {
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      TakeEight<2 * kNumber>(weights, r, to, 0);
      TakeEight<2 * kNumber + 1>(weights, r, to, 2);
    }
  }
  template <uint32_t kQuarter>
  BERTH_CARD_ONLY void TakeEight(Weights* weights, uint32_t r, uint32_t (&to)[kPart][4],
                                 uint32_t first) const {
    uint32_t words[4];
    weights->rows[r].template Take<kQuarter>(levels_, words);
    BERTH_UNROLL
    for (uint32_t i = 0; i < 4; ++i) to[first + i / 2][2 * (i % 2) + r] = words[i];
  }

  // What becomes of the lane's two weight rows' products: rows `row` of gate and of up, or `row`
  // and `row` + 8 of one matrix.
  struct Outputs {
    uint32_t row;
    float scales[2], biases[2];
  };
  BERTH_CARD_ONLY Outputs OutputsOf(const WideJob& job) const {
    Outputs to;
    to.row = OutputOf(job) + Lane() / 4;
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      const bool second = a_.matrices == 2 && r == 1;
      const float* const scales = second ? a_.scale[1] : a_.scale[0];
      const float* const biases = second ? a_.bias[1] : a_.bias[0];
      const uint32_t row = a_.matrices == 2 ? to.row : to.row + 8 * r;
      to.scales[r] = scales == nullptr ? 1.0f : scales[job.expert];
      to.biases[r] = biases == nullptr || row >= a_.rows
                         ? 0.0f
                         : biases[static_cast<size_t>(job.expert) * a_.rows + row];
    }
    return to;
  }
  BERTH_CARD_ONLY void Store(const WideJob& job, float (&sums)[kTiles][4]) {
    if (job.weights == kNoWeightRows || OutputOf(job) + Lane() / 4 >= a_.rows) return;
    const Outputs to = OutputsOf(job);
    const uint32_t pairs = job.pairs;
    // The sums move up, so that they stay registers though this is a loop.
    BERTH_NO_UNROLL
    for (uint32_t first = Lane() % 4 * 2; first < pairs; first += 16) {
      BERTH_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t n = first + i / 2 * 8 + i % 2;
        if (n >= pairs) continue;
        StorePair(job, to, n, sums[i / 2][i % 2], sums[i / 2][2 + i % 2]);
      }
      BERTH_UNROLL
      for (uint32_t tile = 0; tile + 2 < kTiles; ++tile) {
        BERTH_UNROLL
        for (uint32_t i = 0; i < 4; ++i) sums[tile][i] = sums[tile + 2][i];
      }
    }
  }
  // Of the job's pair n.
  BERTH_CARD_ONLY void StorePair(const WideJob& job, const Outputs& to, uint32_t n, float one,
                                 float other) const {
    const uint32_t number = job.numbers[n];
    const float weight = a_.weights_before && !a_.down ? a_.weights[number] : 1.0f;
    one = ApplySiblings(one, weight, to.scales[0], to.biases[0]);
    other = ApplySiblings(other, weight, to.scales[1], to.biases[1]);
    if (a_.down) {
      float* const partial = a_.partials + static_cast<size_t>(number) * a_.rows + to.row;
      partial[0] = one;
      if (to.row + 8 < a_.rows) partial[8] = other;
      return;
    }
    const uint32_t place = job.first + job.pair + n;
    if (a_.matrices == 2) {
      StoreHidden(job, place, to.row, one, other);
    } else {
      StoreHidden(job, place, to.row, one, one);
      if (to.row + 8 < a_.rows) StoreHidden(job, place, to.row + 8, other, other);
    }
  }
  BERTH_CARD_ONLY void StoreHidden(const WideJob& job, uint32_t place, uint32_t row, float gate,
                                   float up) const {
    const float h = Activate(a_.activation, a_.alpha, a_.limit, gate, up);
    StoreHiddenValue(a_, place, row, h, job.count > a_.h_wide_over);
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
