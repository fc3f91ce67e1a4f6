#include "kernels/expert/wide_expert.h"

#include <algorithm>
#include <cstring>

namespace berth::kernels {
namespace {

constexpr uint32_t kBatchPairs = 1024;
constexpr uint64_t kTile = uint64_t{kWideRows} * kWideLanes;

uint32_t Panels(uint32_t pairs) { return static_cast<uint32_t>(CeilDiv(pairs, kWideLanes)); }

uint32_t CapacityOf(uint32_t max_pairs) {
  return kWideLanes * std::min(Panels(max_pairs), kBatchPairs / kWideLanes);
}
// Rows of one matrix, decoded.
uint64_t DecodedFloatsOf(uint32_t max_hidden, uint32_t max_ffn) {
  return AlignUp(uint64_t{kWideRows} * std::max(max_hidden, max_ffn), 16);
}
uint64_t ThreadFloatsOf(uint64_t decoded_floats) { return 2 * decoded_floats + 2 * kTile; }

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
      decoded_floats_(DecodedFloatsOf(max_hidden, max_ffn)),
      thread_floats_(ThreadFloatsOf(decoded_floats_)),
      inputs_(uint64_t{capacity_} * max_hidden),
      activations_(uint64_t{capacity_} * max_ffn),
      scratch_(pool->thread_count() * thread_floats_) {}

uint64_t WideExpert::PlannedBytes(uint32_t threads, uint32_t max_hidden, uint32_t max_ffn,
                                  uint32_t max_pairs) {
  const uint64_t per_pair = uint64_t{max_hidden} + max_ffn;
  return (CapacityOf(max_pairs) * per_pair +
          threads * ThreadFloatsOf(DecodedFloatsOf(max_hidden, max_ffn))) *
         sizeof(float);
}

uint64_t WideExpert::bytes() const {
  return inputs_.bytes() + activations_.bytes() + scratch_.bytes();
}

uint32_t WideExpert::Taken(uint32_t pair_count) const { return kWideLanes * Panels(pair_count); }

WideExpert::Scratch WideExpert::ScratchOf(uint32_t thread) const {
  float* const from = scratch_.data() + thread * thread_floats_;
  float* const tiles = from + 2 * decoded_floats_;
  return {from, tiles, tiles + kTile};
}

// Inputs beside each other, so that a vector holds one column of sixteen pairs; lanes without a
// pair are zero.
void WideExpert::Pack(const ExpertBatch& batch, const Segment& segment) {
  const uint32_t hidden = batch.call->spec->hidden;
  for (uint32_t panel = 0; panel < Panels(segment.pair_count); ++panel) {
    float* const to = Inputs(batch, segment.first / kWideLanes + panel);
    for (uint32_t lane = 0; lane < kWideLanes; ++lane) {
      const uint32_t place = panel * kWideLanes + lane;
      if (place >= segment.pair_count) {
        for (uint32_t i = 0; i < hidden; ++i) to[i * kWideLanes + lane] = 0.0f;
        continue;
      }
      const float* const x = batch.Input(segment.pairs[place]);
      for (uint32_t i = 0; i < hidden; ++i) to[i * kWideLanes + lane] = x[i];
    }
  }
}

void WideExpert::Decode(const Matrix& matrix, const Segment& segment, uint32_t row, uint32_t rows,
                        float* to) const {
  for (uint32_t r = 0; r < rows; ++r) {
    matrix.DecodeRow(segment.address, row + r, to + uint64_t{r} * matrix.spec->cols);
  }
}

void WideExpert::GateUp(const ExpertBatch& batch, const Segment& segment, uint32_t row,
                        uint32_t rows, const Scratch& scratch) {
  const ExpertSpec& spec = *batch.call->spec;
  float* const up_weights = scratch.weights;
  float* const gate_weights = scratch.weights + decoded_floats_;
  Decode(batch.up, segment, row, rows, up_weights);
  if (batch.has_gate()) Decode(batch.gate, segment, row, rows, gate_weights);
  for (uint32_t panel = 0; panel < Panels(segment.pair_count); ++panel) {
    const uint32_t at = segment.first / kWideLanes + panel;
    kernels_.wide(up_weights, rows, spec.hidden, Inputs(batch, at), scratch.up);
    AddSiblings(batch, batch.up, segment, panel, true, row, rows, scratch.up);
    if (batch.has_gate()) {
      kernels_.wide(gate_weights, rows, spec.hidden, Inputs(batch, at), scratch.gate);
      AddSiblings(batch, batch.gate, segment, panel, true, row, rows, scratch.gate);
    }
    kernels_.activate(spec.conventions, scratch.gate, scratch.up, rows * kWideLanes,
                      Activations(batch, at) + uint64_t{row} * kWideLanes);
  }
}

void WideExpert::Down(const ExpertBatch& batch, const Segment& segment, uint32_t row, uint32_t rows,
                      const Scratch& scratch) {
  const ExpertSpec& spec = *batch.call->spec;
  Decode(batch.down, segment, row, rows, scratch.weights);
  for (uint32_t panel = 0; panel < Panels(segment.pair_count); ++panel) {
    kernels_.wide(scratch.weights, rows, spec.ffn,
                  Activations(batch, segment.first / kWideLanes + panel), scratch.up);
    AddSiblings(batch, batch.down, segment, panel, false, row, rows, scratch.up);
    const uint32_t begin = panel * kWideLanes;
    const uint32_t lanes = std::min(segment.pair_count - begin, kWideLanes);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      float* const to = batch.Partial(segment.pairs[begin + lane]) + row;
      for (uint32_t r = 0; r < rows; ++r) to[r] = scratch.up[r * kWideLanes + lane];
    }
  }
}

void WideExpert::Run(const ExpertBatch& batch) {
  ParallelEach(pool_, static_cast<uint32_t>(batch.segments.size()),
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
