#include "kernels/expert/exact_expert.h"

#include <algorithm>
#include <cstring>

namespace berth::kernels {
namespace {

constexpr uint32_t kBatchPairs = 512;
// Weight rows whose products are in scratch memory at once, at most: a kernel arranges activations
// at every call, and asks for weights ahead of itself but not of the first.
constexpr uint32_t kMostTileRows = 8192;

// Pairs that one thread quantizes before it looks for more.
constexpr uint32_t kQuantizeGrain = 4;

uint32_t CapacityOf(uint32_t exact_rows, uint32_t max_pairs) {
  return std::min(max_pairs, std::max(kBatchPairs, exact_rows));
}
uint32_t TileRowsOf(uint32_t max_hidden, uint32_t max_ffn) {
  return std::min(std::max(max_hidden, max_ffn), kMostTileRows);
}
uint64_t ColsOf(uint32_t max_hidden, uint32_t max_ffn) {
  return AlignUp(std::max(max_hidden, max_ffn), 256);
}

uint32_t PairCount(const ExpertBatch& batch) {
  return batch.segments.back().first + batch.segments.back().pair_count;
}

// The pair whose place in the batch's scratch memory this is: segments follow each other there.
uint32_t PairAt(const ExpertBatch& batch, uint32_t place) {
  const auto after =
      std::upper_bound(batch.segments.begin(), batch.segments.end(), place,
                       [](uint32_t at, const Segment& segment) { return at < segment.first; });
  const Segment& segment = *(after - 1);
  return segment.pairs[place - segment.first];
}

void AddSiblings(const Matrix& matrix, uint32_t expert, float weight, uint32_t first,
                 uint32_t count, float* values) {
  const float scale = matrix.Scale(expert);
  const float* const bias = matrix.Bias(expert);
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = ApplySiblings(values[i], weight, scale, bias == nullptr ? 0.0f : bias[first + i]);
  }
}

}  // namespace

ExactExpert::ExactExpert(WorkerPool* pool, const ExactKernels& kernels, uint32_t exact_rows,
                         uint32_t max_hidden, uint32_t max_ffn, uint32_t max_pairs)
    : pool_(pool),
      kernels_(kernels),
      capacity_(CapacityOf(exact_rows, max_pairs)),
      cols_(ColsOf(max_hidden, max_ffn)),
      q_(capacity_ * cols_),
      d_(capacity_ * cols_ / 32),
      s_(capacity_ * cols_ / 32),
      sums_(capacity_ * cols_ / 16),
      rows_(capacity_),
      activations_(uint64_t{capacity_} * max_ffn),
      tile_rows_(TileRowsOf(max_hidden, max_ffn)),
      tiles_(uint64_t{pool->thread_count()} * 2 * kMaxDotRows * tile_rows_) {}

uint64_t ExactExpert::PlannedBytes(uint32_t threads, uint32_t exact_rows, uint32_t max_hidden,
                                   uint32_t max_ffn, uint32_t max_pairs) {
  const uint64_t capacity = CapacityOf(exact_rows, max_pairs);
  const uint64_t cols = ColsOf(max_hidden, max_ffn);
  const uint64_t row = cols * sizeof(int8_t) + 2 * (cols / 32 * sizeof(float)) +
                       cols / 16 * sizeof(int16_t) + sizeof(ActivationRow) +
                       max_ffn * sizeof(float);
  return capacity * row +
         uint64_t{threads} * 2 * kMaxDotRows * TileRowsOf(max_hidden, max_ffn) * sizeof(float);
}

uint64_t ExactExpert::bytes() const {
  return q_.bytes() + d_.bytes() + s_.bytes() + sums_.bytes() +
         rows_.capacity() * sizeof(rows_[0]) +
         (activations_.capacity() + tiles_.capacity()) * sizeof(float);
}

ExactExpert::Scratch ExactExpert::ScratchOf(uint32_t thread) {
  const uint64_t floats = uint64_t{kMaxDotRows} * tile_rows_;
  float* const tile = tiles_.data() + thread * 2 * floats;
  return {tile, tile + floats};
}

void ExactExpert::Quantize(uint32_t place, const float* x, uint32_t cols) {
  int8_t* const q = q_.data() + place * cols_;
  float* const d = d_.data() + place * cols_ / 32;
  int16_t* const sums = sums_.data() + place * cols_ / 16;
  float* const s = s_.data() + place * cols_ / 32;
  kernels_.quantize(x, cols, q, d, sums, s);
  rows_[place] = {x, q, d, sums, s};
}

void ExactExpert::QuantizePair(const ExpertBatch& batch, uint32_t place, bool inputs) {
  const ExpertSpec& spec = *batch.call->spec;
  if (inputs) {
    Quantize(place, batch.Input(PairAt(batch, place)), spec.hidden);
  } else {
    Quantize(place, Activations(batch, place), spec.ffn);
  }
}

void ExactExpert::QuantizeAll(const ExpertBatch& batch, bool inputs) {
  // Pair by pair: a call may be of a single unit.
  ParallelEach(pool_, PairCount(batch), kQuantizeGrain,
               [&](uint32_t place, uint32_t) { QuantizePair(batch, place, inputs); });
}

// Weight rows [row, row + rows) with pairs [pair, pair + count) of the segment.
void ExactExpert::Dots(const Matrix& matrix, const Segment& segment, uint32_t pair, uint32_t count,
                       uint32_t row, uint32_t rows, float* out) const {
  DotCall call;
  call.format = matrix.format;
  call.weights = matrix.Row(segment, row);
  call.row_bytes = matrix.spec->row_bytes;
  call.weight_rows = rows;
  call.cols = matrix.spec->cols;
  call.rows = &rows_[segment.first + pair];
  call.row_count = count;
  call.out = out;
  call.out_stride = tile_rows_;
  kernels_.dot(matrix.spec->type)(call);
}

void ExactExpert::GateUp(const ExpertBatch& batch, const Segment& segment, uint32_t first,
                         uint32_t last, const Scratch& scratch) {
  for (uint32_t pair = 0; pair < segment.pair_count; pair += kMaxDotRows) {
    const uint32_t count = std::min(segment.pair_count - pair, kMaxDotRows);
    for (uint32_t row = first; row < last; row += tile_rows_) {
      const uint32_t rows = std::min(last - row, tile_rows_);
      // In the order in which they lie, usually: what is asked for beyond one is the next.
      if (batch.has_gate()) Dots(batch.gate, segment, pair, count, row, rows, scratch.gate);
      Dots(batch.up, segment, pair, count, row, rows, scratch.up);
      for (uint32_t i = 0; i < count; ++i) {
        const float weight = batch.InputWeight(segment.pairs[pair + i]);
        float* const up = scratch.up + i * tile_rows_;
        float* const gate = scratch.gate + i * tile_rows_;
        AddSiblings(batch.up, segment.expert, weight, row, rows, up);
        if (batch.has_gate()) AddSiblings(batch.gate, segment.expert, weight, row, rows, gate);
        kernels_.activate(batch.call->spec->conventions, gate, up, rows,
                          Activations(batch, segment.first + pair + i) + row);
      }
    }
  }
}

void ExactExpert::Down(const ExpertBatch& batch, const Segment& segment, uint32_t first,
                       uint32_t last, const Scratch& scratch) {
  for (uint32_t pair = 0; pair < segment.pair_count; pair += kMaxDotRows) {
    const uint32_t count = std::min(segment.pair_count - pair, kMaxDotRows);
    for (uint32_t row = first; row < last; row += tile_rows_) {
      const uint32_t rows = std::min(last - row, tile_rows_);
      Dots(batch.down, segment, pair, count, row, rows, scratch.up);
      for (uint32_t i = 0; i < count; ++i) {
        float* const values = scratch.up + i * tile_rows_;
        AddSiblings(batch.down, segment.expert, 1.0f, row, rows, values);
        std::memcpy(batch.Partial(segment.pairs[pair + i]) + row, values, rows * sizeof(float));
      }
    }
  }
}

void ExactExpert::RunAlone(const ExpertBatch& batch, const Scratch& scratch) {
  const uint32_t pairs = PairCount(batch);
  for (uint32_t place = 0; place < pairs; ++place) QuantizePair(batch, place, /*inputs=*/true);
  for (const Segment& segment : batch.segments) {
    GateUp(batch, segment, 0, batch.up.spec->rows, scratch);
  }
  for (uint32_t place = 0; place < pairs; ++place) QuantizePair(batch, place, /*inputs=*/false);
  for (const Segment& segment : batch.segments) {
    Down(batch, segment, 0, batch.down.spec->rows, scratch);
  }
}

void ExactExpert::Run(const ExpertBatch& batch) {
  if (pool_->thread_count() == 1) {
    ParallelEach(pool_, 1, 1,
                 [&](uint32_t, uint32_t thread) { RunAlone(batch, ScratchOf(thread)); });
    return;
  }
  QuantizeAll(batch, /*inputs=*/true);
  ForEachPiece(pool_, batch, *batch.up.spec,
               [&](const Segment& segment, uint32_t first, uint32_t last, uint32_t thread) {
                 GateUp(batch, segment, first, last, ScratchOf(thread));
               });
  QuantizeAll(batch, /*inputs=*/false);
  ForEachPiece(pool_, batch, *batch.down.spec,
               [&](const Segment& segment, uint32_t first, uint32_t last, uint32_t thread) {
                 Down(batch, segment, first, last, ScratchOf(thread));
               });
}

}  // namespace berth::kernels
