#include "kernels/expert/f32_expert.h"

#include <algorithm>

#include "kernels/expert/activation.h"
#include "kernels/expert/dot.h"

namespace berth::kernels {
namespace {

constexpr uint32_t kBatchPairs = 4096;

float BiasOf(const Matrix& matrix, uint32_t expert, uint32_t row) {
  const float* const bias = matrix.Bias(expert);
  return bias == nullptr ? 0.0f : bias[row];
}

uint32_t CapacityOf(uint32_t max_pairs) { return std::min(max_pairs, kBatchPairs); }
uint64_t RowFloatsOf(uint32_t max_hidden, uint32_t max_ffn) {
  return AlignUp(std::max(max_hidden, max_ffn), 32);
}

}  // namespace

F32Expert::F32Expert(WorkerPool* pool, uint32_t max_hidden, uint32_t max_ffn, uint32_t max_pairs)
    : pool_(pool),
      capacity_(CapacityOf(max_pairs)),
      row_floats_(RowFloatsOf(max_hidden, max_ffn)),
      rows_(uint64_t{pool->thread_count()} * 2 * row_floats_),
      activations_(uint64_t{capacity_} * max_ffn) {}

uint64_t F32Expert::PlannedBytes(uint32_t threads, uint32_t max_hidden, uint32_t max_ffn,
                                 uint32_t max_pairs) {
  return (uint64_t{threads} * 2 * RowFloatsOf(max_hidden, max_ffn) +
          uint64_t{CapacityOf(max_pairs)} * max_ffn) *
         sizeof(float);
}

uint64_t F32Expert::bytes() const {
  return (rows_.capacity() + activations_.capacity()) * sizeof(float);
}

// One output row of gate and up for all pairs of the segment: decoded once, used for each.
void F32Expert::GateUpRow(const ExpertBatch& batch, const Segment& segment, uint32_t row,
                          uint32_t thread) {
  const ExpertSpec& spec = *batch.call->spec;
  float* const gate_row = RowBuffer(thread, 0);
  float* const up_row = RowBuffer(thread, 1);
  if (batch.has_gate()) batch.gate.DecodeRow(segment.address, row, gate_row);
  batch.up.DecodeRow(segment.address, row, up_row);
  for (uint32_t i = 0; i < segment.pair_count; ++i) {
    const uint32_t pair = segment.pairs[i];
    const float* const x = batch.Input(pair);
    const float weight = batch.InputWeight(pair);
    const auto product = [&](const Matrix& matrix, const float* weights) {
      return ApplySiblings(Dot(weights, x, spec.hidden), weight, matrix.Scale(segment.expert),
                           BiasOf(matrix, segment.expert, row));
    };
    const float u = product(batch.up, up_row);
    const float g = batch.has_gate() ? product(batch.gate, gate_row) : 0.0f;
    Activations(batch, segment.first + i)[row] = Activate(spec.conventions, g, u);
  }
}

void F32Expert::DownRow(const ExpertBatch& batch, const Segment& segment, uint32_t row,
                        uint32_t thread) {
  const ExpertSpec& spec = *batch.call->spec;
  float* const down_row = RowBuffer(thread, 0);
  batch.down.DecodeRow(segment.address, row, down_row);
  const float scale = batch.down.Scale(segment.expert);
  const float bias = BiasOf(batch.down, segment.expert, row);
  for (uint32_t i = 0; i < segment.pair_count; ++i) {
    const float product = Dot(down_row, Activations(batch, segment.first + i), spec.ffn);
    batch.Partial(segment.pairs[i])[row] = ApplySiblings(product, 1.0f, scale, bias);
  }
}

void F32Expert::Run(const ExpertBatch& batch) {
  ForEachPiece(pool_, batch, *batch.up.spec,
               [&](const Segment& segment, uint32_t first, uint32_t last, uint32_t thread) {
                 for (uint32_t row = first; row < last; ++row) {
                   GateUpRow(batch, segment, row, thread);
                 }
               });
  ForEachPiece(pool_, batch, *batch.down.spec,
               [&](const Segment& segment, uint32_t first, uint32_t last, uint32_t thread) {
                 for (uint32_t row = first; row < last; ++row) {
                   DownRow(batch, segment, row, thread);
                 }
               });
}

}  // namespace berth::kernels
