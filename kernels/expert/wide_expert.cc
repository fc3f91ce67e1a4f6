#include "kernels/expert/wide_expert.h"

#include <algorithm>
#include <cstring>

namespace berth::kernels {
namespace {

constexpr uint32_t kBatchPairs = 1024;
constexpr uint64_t kTile = uint64_t{kWideRows} * kWideLanes;
constexpr uint64_t kDecodedFloats = uint64_t{kWideRows} * kWideCols;

uint32_t Panels(uint32_t pairs) { return static_cast<uint32_t>(CeilDiv(pairs, kWideLanes)); }

uint32_t CapacityOf(uint32_t max_pairs) {
  return kWideLanes * std::min(Panels(max_pairs), kBatchPairs / kWideLanes);
}
// Of `pairs` in whole panels.
uint64_t SumFloatsOf(uint32_t pairs) { return kTile * (pairs / kWideLanes); }
uint64_t ThreadFloatsOf(uint32_t pairs) { return kDecodedFloats + 2 * SumFloatsOf(pairs); }

// A tile's products with what goes with them; lane l is the pair after `pairs` by l.
void AddSiblings(const ExpertBatch& batch, const Matrix& matrix, const Segment& segment,
                 uint32_t panel, bool inputs, uint32_t row, uint32_t rows, float* tile) {
  float weights[kWideLanes];
  for (uint32_t lane = 0; lane < kWideLanes; ++lane) {
    const uint32_t place = panel * kWideLanes + lane;
    const bool real = inputs && place < segment.pair_count;
    weights[lane] = real ? batch.InputWeight(segment.pairs[place]) : 1.0f;
  }
  const float scale = matrix.Scale(segment.expert);
  const float* const bias = matrix.Bias(segment.expert);
  for (uint32_t r = 0; r < rows; ++r) {
    const float b = bias == nullptr ? 0.0f : bias[row + r];
    float* const values = tile + r * kWideLanes;
    for (uint32_t lane = 0; lane < kWideLanes; ++lane) {
      values[lane] = ApplySiblings(values[lane], weights[lane], scale, b);
    }
  }
}

}  // namespace

WideExpert::WideExpert(WorkerPool* pool, const ExactKernels& kernels, uint32_t max_hidden,
                       uint32_t max_ffn, uint32_t max_pairs)
    : pool_(pool),
      kernels_(kernels),
      capacity_(CapacityOf(max_pairs)),
      sum_floats_(SumFloatsOf(capacity_)),
      thread_floats_(ThreadFloatsOf(capacity_)),
      inputs_(uint64_t{capacity_} * max_hidden),
      activations_(uint64_t{capacity_} * max_ffn),
      scratch_(pool->thread_count() * thread_floats_) {}

uint64_t WideExpert::PlannedBytes(uint32_t threads, uint32_t max_hidden, uint32_t max_ffn,
                                  uint32_t max_pairs) {
  const uint32_t capacity = CapacityOf(max_pairs);
  const uint64_t per_pair = uint64_t{max_hidden} + max_ffn;
  return (capacity * per_pair + threads * ThreadFloatsOf(capacity)) * sizeof(float);
}

uint64_t WideExpert::bytes() const {
  return inputs_.bytes() + activations_.bytes() + scratch_.bytes();
}

uint32_t WideExpert::Taken(uint32_t pair_count) const { return kWideLanes * Panels(pair_count); }

WideExpert::Scratch WideExpert::ScratchOf(uint32_t thread) const {
  float* const from = scratch_.data() + thread * thread_floats_;
  float* const sums = from + kDecodedFloats;
  return {from, sums, sums + sum_floats_};
}

// Inputs beside each other, so that a vector holds one column of sixteen pairs; lanes without a
// pair are zero.
void WideExpert::Pack(const ExpertBatch& batch, const Segment& segment) {
  constexpr uint32_t kCols = 64;  // at a time: what is written stays in the nearest cache
  static constexpr float kNone[kCols] = {};
  const uint32_t hidden = batch.call->spec->hidden;
  for (uint32_t panel = 0; panel < Panels(segment.pair_count); ++panel) {
    float* const to = Inputs(batch, segment.first / kWideLanes + panel);
    for (uint32_t col = 0; col < hidden; col += kCols) {
      const uint32_t cols = std::min(hidden - col, kCols);
      for (uint32_t lane = 0; lane < kWideLanes; ++lane) {
        const uint32_t place = panel * kWideLanes + lane;
        const bool real = place < segment.pair_count;
        const float* const x = real ? batch.Input(segment.pairs[place]) + col : kNone;
        float* const lanes = to + uint64_t{col} * kWideLanes + lane;
        for (uint32_t i = 0; i < cols; ++i) lanes[i * kWideLanes] = x[i];
      }
    }
  }
}

// A tile of weights, then the same rows' next tile: decoded weights and the panels' part that they
// meet stay in the nearest cache, whatever the length of a row.
void WideExpert::Products(const Matrix& matrix, const Segment& segment, uint32_t row, uint32_t rows,
                          const float* panels, const std::byte* next, float* decoded,
                          float* sums) const {
  const Format& format = *matrix.format;
  const DecodeKernel decode = kernels_.decode(matrix.spec->type);
  const uint32_t all_cols = matrix.spec->cols;
  const uint64_t row_bytes = matrix.spec->row_bytes;
  const size_t tile_bytes = size_t{kWideCols} / format.block_elements * format.block_bytes;
  WideCall call;
  call.weights = decoded;
  call.rows = rows;
  call.panel_stride = uint64_t{all_cols} * kWideLanes;
  call.panel_count = Panels(segment.pair_count);
  call.sums = sums;
  std::fill_n(sums, kTile * call.panel_count, 0.0f);
  const std::byte* from = matrix.Row(segment, row);
  for (uint32_t col = 0; col < all_cols; col += kWideCols, from += tile_bytes) {
    call.cols = std::min(all_cols - col, kWideCols);
    // Sixteen rows side by side are more than a processor follows by itself.
    const std::byte* const ahead = all_cols - col > kWideCols ? from + tile_bytes : next;
    for (uint32_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < tile_bytes; i += 64) {
        __builtin_prefetch(ahead + r * row_bytes + i);
      }
      decode(format, from + r * row_bytes, call.cols / format.block_elements,
             decoded + uint64_t{r} * kWideCols);
    }
    call.panels = panels + uint64_t{col} * kWideLanes;
    kernels_.wide(call);
  }
}

void WideExpert::GateUp(const ExpertBatch& batch, const Segment& segment, uint32_t row,
                        uint32_t rows, const Scratch& scratch) {
  const ExpertSpec& spec = *batch.call->spec;
  const uint32_t at = segment.first / kWideLanes;
  const bool has_gate = batch.has_gate();
  const std::byte* next = (has_gate ? batch.gate : batch.up).Row(segment, row + rows);
  if (has_gate) {
    Products(batch.gate, segment, row, rows, Inputs(batch, at), batch.up.Row(segment, row),
             scratch.weights, scratch.gate);
  }
  Products(batch.up, segment, row, rows, Inputs(batch, at), next, scratch.weights, scratch.up);
  for (uint32_t panel = 0; panel < Panels(segment.pair_count); ++panel) {
    float* const gate = scratch.gate + panel * kTile;
    float* const up = scratch.up + panel * kTile;
    AddSiblings(batch, batch.up, segment, panel, true, row, rows, up);
    if (has_gate) AddSiblings(batch, batch.gate, segment, panel, true, row, rows, gate);
    kernels_.activate(spec.conventions, gate, up, rows * kWideLanes,
                      Activations(batch, at + panel) + uint64_t{row} * kWideLanes);
  }
}

void WideExpert::Down(const ExpertBatch& batch, const Segment& segment, uint32_t row, uint32_t rows,
                      const Scratch& scratch) {
  Products(batch.down, segment, row, rows, Activations(batch, segment.first / kWideLanes),
           batch.down.Row(segment, row + rows), scratch.weights, scratch.up);
  for (uint32_t panel = 0; panel < Panels(segment.pair_count); ++panel) {
    float* const tile = scratch.up + panel * kTile;
    AddSiblings(batch, batch.down, segment, panel, false, row, rows, tile);
    const uint32_t begin = panel * kWideLanes;
    const uint32_t lanes = std::min(segment.pair_count - begin, kWideLanes);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      float* const to = batch.Partial(segment.pairs[begin + lane]) + row;
      for (uint32_t r = 0; r < rows; ++r) to[r] = tile[r * kWideLanes + lane];
    }
  }
}

void WideExpert::Run(const ExpertBatch& batch) {
  ParallelEach(pool_, static_cast<uint32_t>(batch.segments.size()), 1,
               [&](uint32_t index, uint32_t) { Pack(batch, batch.segments[index]); });
  ForEachPiece(pool_, batch, *batch.up.spec,
               [&](const Segment& segment, uint32_t first, uint32_t last, uint32_t thread) {
                 for (uint32_t row = first; row < last; row += kWideRows) {
                   GateUp(batch, segment, row, std::min(last - row, kWideRows), ScratchOf(thread));
                 }
               });
  ForEachPiece(pool_, batch, *batch.down.spec,
               [&](const Segment& segment, uint32_t first, uint32_t last, uint32_t thread) {
                 for (uint32_t row = first; row < last; row += kWideRows) {
                   Down(batch, segment, row, std::min(last - row, kWideRows), ScratchOf(thread));
                 }
               });
}

}  // namespace berth::kernels
