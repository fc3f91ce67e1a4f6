// The wide path of a format's tuned kernel: units of many pairs, by matrix instructions on BF16.
//
// A block takes tiles of a unit's weight rows with up to 112 of its pairs, a warp 16 rows: 8 of
// gate and the same 8 of up, or 16 of one matrix. Weights come as they lie into shared memory, 256
// columns of a row at a time, and each is taken apart once, straight into the registers that the
// matrix instruction reads: lane 4 g + t holds block t of every four of rows g and g + 8. So a step
// is 128 columns, in eight instructions of 16 columns, four of each lane's block; activations lie
// in the same order (wide_rows.h). Where four warps multiply together, the matrix units read
// activations by themselves, once for the four (card_matrix.h), while the warps take the next
// weights apart. All warps go through steps together; two stages of activations and two of weights
// are filled ahead, across tiles. A turn of the loop is the two steps of a stage of weights, so
// that which of the two it is, and where its activations lie, is known when code is generated.
//
// What is computed does not depend on how pairs, rows and blocks are cut: a sum is one chain over
// the columns, 16 at a time, in this order.
#ifndef BERTH_KERNELS_GPU_WIDE_KERNEL_H_
#define BERTH_KERNELS_GPU_WIDE_KERNEL_H_

#include "kernels/gpu/card_matrix.h"
#include "kernels/gpu/tile_stages.h"
#include "kernels/gpu/wide_plan.h"
#include "kernels/gpu/wide_rows.h"
#include "kernels/gpu/wide_store.h"
#include "kernels/gpu/wide_weights.h"

namespace berth::kernels::gpu {

// Of the decoder's table in shared memory, so many times, which the wide path puts its own in place
// of.
template <typename F, uint32_t kCopies>
inline constexpr uint32_t kOtherTableBytes = F::kTableWords* kCopies* uint32_t{4};
// What these need more.
template <typename F, uint32_t kCopies>
inline constexpr uint32_t kWideTableBytes =
    kWideTableWords<F> * 4 <= kOtherTableBytes<F, kCopies>
        ? 0
        : kWideTableWords<F> * 4 - kOtherTableBytes<F, kCopies>;

#if BERTH_HAS_MATRIX_UNITS
// kFew: no unit has more than kWideFewPairs pairs. Then inputs have four stages and warps meet once
// a chunk, not once a step: those of the next chunk are asked for while this one's are read.
template <typename F, uint32_t kCopies, bool kFew>
class WideBlock {
 public:
  // `other_table`: kOtherTableBytes, and behind it kWideTableBytes and WideSharedBytes.
  BERTH_CARD_ONLY WideBlock(const ProductArgs& a, uint32_t* other_table, const CardTable& table)
      : a_(a), table_(table), wide_table_(other_table) {
    thread_ = KeptWord(MadeHere(ThreadIndex()));
    if constexpr (kHasWidePoints<F>) FillWideTables<F>(other_table, thread_, BlockThreads());
    uint8_t* const shared = reinterpret_cast<uint8_t*>(other_table) + kOtherTableBytes<F, kCopies> +
                            kWideTableBytes<F, kCopies>;
    static_assert((kOtherTableBytes<F, kCopies> + kWideTableBytes<F, kCopies>) % 128 == 0);
    static_assert(kWideJobs * sizeof(WideJob) % 128 == 0);
    jobs_ = reinterpret_cast<WideJob*>(shared);
    inputs_ = shared + kWideJobs * sizeof(WideJob);
    weights_ = inputs_ + WideInputBytes(a.wide_pairs);
  }

  // All jobs of a share with the first `units` of the list. Returns the share's turn for what comes
  // behind them.
  BERTH_CARD_ONLY uint32_t Run(uint32_t units, uint32_t share) {
    const uint32_t blocks = GridBlocks(), unit_tiles = TilesOfUnit();
    const uint32_t turn = (share + blocks - units * unit_tiles % blocks) % blocks;
    // What is known of jobs is looked up there: registers are dear.
    if (Thread() == 0) {
      WideJob& before = Job(kWideJobs - 1);
      before.unit_tiles = unit_tiles;
      before.tile_count = units * unit_tiles;
      before.tile = share - blocks;
      before.pass = 0;
      before.passes = 1;
    }
    SyncBlock();
    Describe(0);
    SyncBlock();
    Describe(1);
    const uint32_t steps = (a_.cols + kWideColumns - 1) / kWideColumns;
    FillInputs(0, 0, 0);
    if (kFew && steps > 1) FillInputs(0, 1, 1);
    places_ = FillWeights(0, 0, 0);
    Weights weights;
    Operands first;  // of the next products
    WaitForOwnPieces<0>();
    Prepare<0>(places_, 0, &weights, first);
    BeginStep<0>();
    for (uint32_t number = 0; Job(number).pairs != 0; ++number) {
      Describe(number + 2);  // here, where there are no sums and so there are registers
      const uint32_t tiles = FromLane(Job(number).tiles, 0);
      float sums[kTiles][4] = {};
      BERTH_NO_UNROLL
      for (uint32_t step = 0; step + 1 < steps; step += 2) {
        const uint32_t next = step + 2 < steps ? step + 2 : 0, next_number = number + (next == 0);
        const Places places =
            FirstStep<true>(number, tiles, step, next_number, next, weights, first, sums);
        EndProducts<1>();
        Prepare<1>(places, step + 1, &weights, first);
        if (kFew) {
          EndProducts<0>();
        } else {
          BeginStep<1>();  // the weights of the next chunk may be on their way
        }
        Begin<1, 0>(tiles, first, sums);
        FillLater(next_number, next, steps);
        Multiply<1>(tiles, weights, first, sums);
        EndProducts<1>();
        EndChunk(next, &weights, first);
      }
      // The code is here twice: a branch between products would have them wait for each other.
      if (F::kElements != kWideWeightColumns && steps % 2 != 0) {
        FirstStep<false>(number, tiles, steps - 1, number + 1, 0, weights, first, sums);
        if (kFew) {
          EndProducts<1>();
        } else {
          BeginStep<1>();
        }
        FillLater(number + 1, 0, steps);
        EndChunk(0, &weights, first);
      }
      ReadSums(sums);
      WideStore<kTiles>(a_, Job(number), OutputOf(Job(number)), Thread() % kWarp).Store(sums);
    }
    WaitForPieces<0>();
    FenceBeforeBulkCopies();
    SyncBlock();
    return turn;
  }

 private:
  static constexpr uint32_t kSlot = WideSlotBytes(F::kBytes, F::kElements);
  static constexpr uint32_t kDescribers = 256;                                     // threads
  static constexpr uint32_t kTiles = (kFew ? kWideFewPairs : kWideMostPairs) / 8;  // of 8 pairs
  static constexpr uint32_t kStages = kFew ? kWideFewStages : kWideStages;         // of inputs
  // Matrix instructions at a time, of the eight of a step: what registers hold twice.
  static constexpr uint32_t kPart = kFew ? 4 : 2;
  static_assert(kTiles == (kFew ? kMatrixFewTiles : kMatrixMostTiles));
  static constexpr uint32_t kInputBytes = 2 * kWideColumns;  // of a row in a stage
  static constexpr uint32_t kPiecesOfRow = kInputBytes / 16;
  // Where blocks alternate, too: branches keep loads from being under way together.
  static constexpr Reading kHow = kLie<F> == Lie::kAny     ? Reading::kBytes
                                  : kLie<F> == Lie::kWords ? Reading::kWords
                                                           : Reading::kEvens;

  BERTH_CARD_ONLY static uint32_t Warps() { return BlockThreads() / kWarp; }
  // What depends on the thread is made of its number where it is needed. Compilers would rather
  // ask for the number again and again, which takes as long as shared memory does, and make the
  // rest in front of the loop, for which there are no registers.
  BERTH_CARD_ONLY uint32_t Thread() const { return MadeHere(thread_); }
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
    return job.row + Thread() / kWarp * WarpOutputs();
  }
  static constexpr uint32_t kChunkBytes = kWideWeightColumns / F::kElements * F::kBytes;
  BERTH_CARD_ONLY uint32_t BytesOf(uint32_t chunk) const {
    const auto left = static_cast<uint32_t>(a_.row_bytes[0]) - chunk * kChunkBytes;
    return left < kChunkBytes ? left : kChunkBytes;
  }

  // Job `number` follows from the one before.
  BERTH_CARD_ONLY void Describe(uint32_t number) {
    const uint32_t self = Thread();
    const WideJob& before = Job(number + kWideJobs - 1);
    const uint32_t tile_count = before.tile_count, unit_tiles = before.unit_tiles;
    const bool same = before.pass + 1 < before.passes;
    const uint32_t tile = same ? before.tile : before.tile + GridBlocks();
    const uint32_t pass = same ? before.pass + 1 : 0;
    WideJob& to = Job(number);
    if (self == 0) {
      to.tile_count = tile_count;
      to.unit_tiles = unit_tiles;
    }
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
    const uint32_t unit_at = tile / unit_tiles;
    const CardUnit unit = a_.list.units[unit_at];
    // As few passes as there can be, alike but for what is left over. Divisions take their time.
    uint32_t passes = 1, of_pass = unit.count;
    if (unit.count > a_.wide_pairs) {
      passes = (unit.count + a_.wide_pairs - 1) / a_.wide_pairs;
      of_pass = ((unit.count + passes - 1) / passes + 7) / 8 * 8;
    }
    const uint32_t pair = pass * of_pass;
    const uint32_t pairs = unit.count - pair < of_pass ? unit.count - pair : of_pass;
    const uint32_t row = (tile - unit_at * unit_tiles) * TileOutputs();
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
    to.tiles = (pairs + 15) / 16 * 2;
    to.row = row;
    // Which weights decoders cannot read where they lie.
    const auto low =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(up) | reinterpret_cast<uintptr_t>(gate));
    const bool moved = kLie<F> != Lie::kAny && (low & (kLie<F> == Lie::kWords ? 3 : 1)) != 0;
    to.weights = up == nullptr ? kNoWeightRows : moved ? kWeightRowsMoved : kWeightRowsAsTheyLie;
  }

  // Where a chunk of the lane's two weight rows begins, behind weights_.
  struct Places {
    uint32_t rows[2];
  };
  // What was asked for before the last kLeft groups of pieces is there, and what the step before
  // read is not needed any more.
  template <uint32_t kLeft>
  BERTH_CARD_ONLY static void BeginStep() {
    WaitForPieces<kLeft>();
    EndProducts<0>();
    FenceBeforeProducts();
    SyncBlock();
  }

  // What this warp has asked for before the last kLeft groups of pieces is there.
  template <uint32_t kLeft>
  BERTH_CARD_ONLY static void WaitForOwnPieces() {
    WaitForPieces<kLeft>();
    SyncWarp();
  }

  // Weights of a warp: as they lie, and taken apart.
  struct Weights {
    WideBlockOf<F> rows[2];
  };
  using Operands = uint32_t[kPart][4];

  // The first step of a chunk, and what is asked for meanwhile: inputs of the second, if it has
  // two, weights of the next chunk. Returns where the chunk's weights lie.
  template <bool kTwo>
  BERTH_CARD_ONLY Places FirstStep(uint32_t number, uint32_t tiles, uint32_t step,
                                   uint32_t next_number, uint32_t next, const Weights& weights,
                                   Operands& first, float (&sums)[kTiles][4]) {
    Begin<0, 0>(tiles, first, sums);
    if (kFew) {
      FillInputs(next_number, next, 2 * (half_ ^ 1));
    } else if (kTwo) {
      FillInputs(number, step + 1, 1);
    }
    ClosePieces();
    const Places places = places_;
    Multiply<0>(tiles, weights, first, sums);
    // Not with the activations: what copies has to wait for room then.
    stage_ ^= 1;
    places_ = FillWeights(next_number, next / 2, stage_);
    return places;
  }

  // The rest of what the chunk with step `next` needs: inputs of its first step, or where there
  // are stages for both, of its second.
  BERTH_CARD_ONLY void FillLater(uint32_t number, uint32_t next, uint32_t steps) {
    if (!kFew) {
      FillInputs(number, next, 0);
    } else if (next + 1 < steps) {
      FillInputs(number, next + 1, 2 * (half_ ^ 1) + 1);
    }
    ClosePieces();
  }
  // And then the chunk begins.
  BERTH_CARD_ONLY void EndChunk(uint32_t next, Weights* weights, Operands& first) {
    WaitForOwnPieces<1>();
    Prepare<0>(places_, next, weights, first);
    BeginStep<0>();
    half_ ^= 1;
  }

  // Of a step, to a stage.
  BERTH_CARD_ONLY void FillInputs(uint32_t number, uint32_t step, uint32_t stage) {
    const WideJob& job = Job(number);
    const uint32_t groups = (job.pairs + 7) / 8, thread = Thread();
    if constexpr (kFew) {
      // Four pieces of eight rows by a warp, so that all copy as much as each other.
      for (uint32_t copy = thread / kWarp; copy < 4 * groups; copy += Warps()) {
        const uint32_t pair = copy / 4 * 8 + InputRow(thread), piece = copy % 4 * 4 + thread % 4;
        CopyPiece(inputs_ + WideInputAt<kStages>(stage, piece, pair),
                  InputPiece(job, pair, step, piece), 0, 16);
      }
      return;
    }
    // A thread copies every fourth piece of a row, so that it looks up one place and all copies go
    // by the same address: one that is overwritten next would have to be waited for.
    const uint32_t piece = thread % 4, apart = 8 * Warps();
    BERTH_NO_UNROLL
    for (uint32_t pair = thread / kWarp * 8 + InputRow(thread); pair < 8 * groups; pair += apart) {
      const uint8_t* const from = InputPiece(job, pair, step, piece);
      uint8_t* const to = inputs_ + WideInputAt<kStages>(stage, piece, pair);
      BERTH_UNROLL
      for (uint32_t i = 0; i < kPiecesOfRow; i += 4) {
        CopyPiece(to + i * kWidePieceBytes, from + 16 * i, 0, 16);
      }
      if (apart >= kWideMostPairs) break;
    }
  }
  // Which of eight rows the lane copies pieces of. Eight lanes that are served together copy four
  // pieces of each of two rows, four rows apart: these lie in different banks.
  BERTH_CARD_ONLY static uint32_t InputRow(uint32_t thread) {
    return thread % kWarp / 8 + thread / 4 % 2 * 4;
  }
  BERTH_CARD_ONLY const uint8_t* InputPiece(const WideJob& job, uint32_t pair, uint32_t step,
                                            uint32_t piece) const {
    return reinterpret_cast<const uint8_t*>(a_.wide.at) + size_t{16} * job.inputs[pair] +
           step * kInputBytes + 16 * piece;
  }

  // Added up once, not for each of several conditional copies by it.
  BERTH_CARD_ONLY static const uint8_t* OneAddress(const uint8_t* at) {
#if defined(BERTH_ON_NVIDIA)
    asm volatile("" : "+l"(at));
#endif
    return at;
  }
  // A warp's two stages lie one behind the other.
  BERTH_CARD_ONLY static uint32_t SlotAt(uint32_t warp, uint32_t stage, uint32_t row) {
    return ((2 * warp + stage) * kWideWarpRows + row) * kSlot;
  }
  // The warp's own rows.
  BERTH_CARD_ONLY Places FillWeights(uint32_t number, uint32_t chunk, uint32_t stage) {
    const WideJob& job = Job(number);
    const uint32_t thread = Thread(), warp = thread / kWarp, g = thread % kWarp / 4;
    const uint8_t* const* const rows = job.rows + warp * kWideWarpRows;
    Places places = {{SlotAt(warp, stage, g), SlotAt(warp, stage, g + 8)}};
    const uint32_t weights = job.weights;
    if (weights == kWeightRowsAsTheyLie) {
      // As activations: every fourth piece of rows g and g + 8.
      constexpr uint32_t kPieces = (kChunkBytes + 30) / 16;
      const uint32_t bytes = BytesOf(chunk), first = thread % 4 * 16;
      const uint8_t* const both[2] = {rows[g], rows[g + 8]};
      BERTH_UNROLL
      for (uint32_t r = 0; r < 2; ++r) {
        const uint8_t* const from = both[r] + chunk * kChunkBytes;
        const uint32_t head = Head(from), end = head + bytes;
        uint8_t* const to = weights_ + places.rows[r] + first;
        const uint8_t* const pieces = OneAddress(from - head + first);
        places.rows[r] += head;
        BERTH_UNROLL
        for (uint32_t i = 0; i < kPieces; i += 4) {
          const uint32_t at = first + 16 * i;
          if (at < end) {
            CopyWeights(to + 16 * i, pieces + 16 * i, at < head ? head - at : 0,
                        end - at < 16 ? end - at : 16);
          }
        }
      }
    } else if (weights == kWeightRowsMoved) {
      const uint32_t bytes = BytesOf(chunk);
      BERTH_NO_UNROLL
      for (uint32_t row = 0; row < kWideWarpRows; ++row) {
        CopyRealigned(weights_ + SlotAt(warp, stage, row), rows[row] + chunk * kChunkBytes, bytes);
      }
    }
    ClosePieces();
    return places;
  }

  template <uint32_t kStep>  // of the chunk
  BERTH_CARD_ONLY void Load(const Places& places, uint32_t step, Weights* weights) const {
    constexpr uint32_t kBlockParts = F::kElements / 32;
    const uint32_t t = Thread() % 4;
    // Behind the last block: another one, times zero.
    const bool there = F::kElements == kWideWeightColumns || 4 * step + t < a_.cols / 32;
    const uint32_t block = there ? 4 * kStep + t : 0;  // of the chunk
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      weights->rows[r].template Load<kHow>(
          weights_ + places.rows[r] + block / kBlockParts * F::kBytes, block % kBlockParts, table_);
      if (!there) weights->rows[r].Clear();
    }
  }
  // Weights of a step, and the operands of its first products. They are the warp's own: so this is
  // done while products of the step before are under way, and before others are waited for.
  template <uint32_t kStep>
  BERTH_CARD_ONLY void Prepare(const Places& places, uint32_t step, Weights* weights,
                               Operands& first) const {
    Load<kStep>(places, step, weights);
    Take<0>(*weights, first);
  }
  template <uint32_t kStep, uint32_t kNumber>
  BERTH_CARD_ONLY void Begin(uint32_t tiles, const Operands& operands,
                             float (&sums)[kTiles][4]) const {
    const uint8_t* const stages = inputs_ + (kFew ? half_ * 2 * kWideStageBytes : 0);
    BeginProducts<kStages * kWideStageBytes, kWidePieceBytes>(
        sums, operands, stages, WideInputAt<kStages>(kStep, 2 * kPart * kNumber, 0), tiles);
  }
  // A step's products but for the first, which are under way; these are then. Weights are taken
  // apart while the products before them are under way.
  template <uint32_t kStep>
  BERTH_CARD_ONLY void Multiply(uint32_t tiles, const Weights& weights, Operands& first,
                                float (&sums)[kTiles][4]) const {
    Operands second;
    Take<1>(weights, second);
    Begin<kStep, 1>(tiles, second, sums);
    if constexpr (kPart == 2) {
      EndProducts<1>();
      Take<2>(weights, first);
      Begin<kStep, 2>(tiles, first, sums);
      EndProducts<1>();
      Take<3>(weights, second);
      Begin<kStep, 3>(tiles, second, sums);
    }
  }
  // Operands of part kNumber of a step.
  template <uint32_t kNumber>
  BERTH_CARD_ONLY void Take(const Weights& weights, Operands& to) const {
    TakeQuarter<kPart * kNumber / 2, 0>(weights, to);
    if constexpr (kPart == 4) TakeQuarter<kPart * kNumber / 2 + 1, 2>(weights, to);
  }
  // Eight weights of each row: two instructions' operands.
  template <uint32_t kQuarter, uint32_t kFirst>
  BERTH_CARD_ONLY void TakeQuarter(const Weights& weights, Operands& to) const {
    WideLookups lookups;
    if constexpr (kHasWidePoints<F>) lookups = WideLookupsOf<F>(wide_table_, Thread() % kWarp);
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      uint32_t words[4];
      weights.rows[r].template Take<kQuarter>(lookups, words);
      BERTH_UNROLL
      for (uint32_t i = 0; i < 4; ++i) to[kFirst + i / 2][2 * (i % 2) + r] = words[i];
    }
  }

  const ProductArgs& a_;
  WideJob* jobs_;
  const CardTable table_;
  const uint32_t* const wide_table_;
  uint8_t* weights_ = nullptr;
  uint8_t* inputs_ = nullptr;
  uint32_t thread_ = 0;
  uint32_t stage_ = 0;  // of weights, the last that was filled
  Places places_;       // and the lane's rows there
  uint32_t half_ = 0;   // of the stages of inputs, which the chunk reads
};
#else
template <typename F, uint32_t kCopies, bool kFew>
class WideBlock;
#endif

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_KERNEL_H_
