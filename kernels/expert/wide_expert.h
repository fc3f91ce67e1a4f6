// Experts in the wide arithmetic, for units with many rows: weights decoded once, a small tile at a
// time, for panels of 16 pairs each, in F32.
#ifndef BERTH_KERNELS_EXPERT_WIDE_EXPERT_H_
#define BERTH_KERNELS_EXPERT_WIDE_EXPERT_H_

#include "kernels/exact/exact_kernels.h"
#include "kernels/expert/expert_batch.h"
#include "runtime/base/aligned_buffer.h"

namespace berth::kernels {

class WideExpert final : public ExpertMath {
 public:
  WideExpert(WorkerPool* pool, const ExactKernels& kernels, uint32_t max_hidden, uint32_t max_ffn,
             uint32_t max_pairs);

  static uint64_t PlannedBytes(uint32_t threads, uint32_t max_hidden, uint32_t max_ffn,
                               uint32_t max_pairs);
  uint64_t bytes() const override;
  uint32_t capacity() const override { return capacity_; }
  uint32_t Taken(uint32_t pair_count) const override;
  void Run(const ExpertBatch& batch) override;

 private:
  // Of a thread.
  struct Scratch {
    float* weights;  // [kWideRows][kWideCols]
    float* gate;     // [panels][kWideRows][kWideLanes]
    float* up;
  };

  // Panels of a segment: inputs [hidden][kWideLanes] each, activations [ffn][kWideLanes] each.
  float* Inputs(const ExpertBatch& batch, uint32_t panel) const {
    return inputs_.data() + uint64_t{panel} * kWideLanes * batch.call->spec->hidden;
  }
  float* Activations(const ExpertBatch& batch, uint32_t panel) const {
    return activations_.data() + uint64_t{panel} * kWideLanes * batch.call->spec->ffn;
  }
  void Pack(const ExpertBatch& batch, const Segment& segment);
  // Products of weight rows [row, row + rows) with the segment's panels, which start at `panels`.
  // `next`: the rows whose turn it is afterwards.
  void Products(const Matrix& matrix, const Segment& segment, uint32_t row, uint32_t rows,
                const float* panels, const std::byte* next, float* decoded, float* sums) const;
  void GateUp(const ExpertBatch& batch, const Segment& segment, uint32_t row, uint32_t rows,
              const Scratch& scratch);
  void Down(const ExpertBatch& batch, const Segment& segment, uint32_t row, uint32_t rows,
            const Scratch& scratch);
  Scratch ScratchOf(uint32_t thread) const;

  WorkerPool* pool_;
  const ExactKernels& kernels_;
  uint32_t capacity_;       // pairs, in whole panels
  uint64_t sum_floats_;     // of the products of a tile with all panels
  uint64_t thread_floats_;  // of a Scratch
  AlignedBuffer<float> inputs_, activations_, scratch_;
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_WIDE_EXPERT_H_
