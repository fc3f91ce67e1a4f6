// Experts in the exact arithmetic: activations in 8 bits, integer dot products, weights read once
// for all rows of a unit.
#ifndef BERTH_KERNELS_EXPERT_EXACT_EXPERT_H_
#define BERTH_KERNELS_EXPERT_EXACT_EXPERT_H_

#include <vector>

#include "kernels/exact/exact_kernels.h"
#include "kernels/expert/expert_batch.h"
#include "runtime/base/aligned_buffer.h"

namespace berth::kernels {

class ExactExpert final : public ExpertMath {
 public:
  // For units of at most `exact_rows` pairs.
  ExactExpert(WorkerPool* pool, const ExactKernels& kernels, uint32_t exact_rows,
              uint32_t max_hidden, uint32_t max_ffn, uint32_t max_pairs);

  static uint64_t PlannedBytes(uint32_t threads, uint32_t exact_rows, uint32_t max_hidden,
                               uint32_t max_ffn, uint32_t max_pairs);
  uint64_t bytes() const override;
  uint32_t capacity() const override { return capacity_; }
  void Run(const ExpertBatch& batch) override;

 private:
  struct Scratch {
    float* gate;  // [kMaxDotRows][tile_rows]
    float* up;
  };

  // Reads `x` of the pair at `place` of the batch in 8 bits.
  void Quantize(uint32_t place, const float* x, uint32_t cols);
  // The input of gate and up of the pair at `place`, or that of down.
  void QuantizePair(const ExpertBatch& batch, uint32_t place, bool inputs);
  void QuantizeAll(const ExpertBatch& batch, bool inputs);
  float* Activations(const ExpertBatch& batch, uint32_t place) {
    return activations_.data() + uint64_t{place} * batch.call->spec->ffn;
  }
  void GateUp(const ExpertBatch& batch, const Segment& segment, uint32_t first, uint32_t last,
              const Scratch& scratch);
  void Down(const ExpertBatch& batch, const Segment& segment, uint32_t first, uint32_t last,
            const Scratch& scratch);
  void Dots(const Matrix& matrix, const Segment& segment, uint32_t pair, uint32_t count,
            uint32_t row, uint32_t rows, float* out) const;
  // A batch as one task, for a pool of one thread: to wake a worker for each phase costs.
  void RunAlone(const ExpertBatch& batch, const Scratch& scratch);
  Scratch ScratchOf(uint32_t thread);

  WorkerPool* pool_;
  const ExactKernels& kernels_;
  uint32_t capacity_;
  uint64_t cols_;  // of a row in 8 bits, a multiple of 256
  AlignedBuffer<int8_t> q_;
  AlignedBuffer<float> d_, s_;
  AlignedBuffer<int16_t> sums_;
  std::vector<ActivationRow> rows_;  // [capacity]
  std::vector<float> activations_;   // [capacity][ffn]: what goes into down
  uint32_t tile_rows_;
  std::vector<float> tiles_;  // [threads][2][kMaxDotRows][tile_rows]
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_EXACT_EXPERT_H_
