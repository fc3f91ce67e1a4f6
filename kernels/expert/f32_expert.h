// Experts in F32: weights decoded row by row, activations as they come, exp and tanh of the C++
// library. The reference for accuracy.
#ifndef BERTH_KERNELS_EXPERT_F32_EXPERT_H_
#define BERTH_KERNELS_EXPERT_F32_EXPERT_H_

#include <vector>

#include "kernels/expert/expert_batch.h"

namespace berth::kernels {

class F32Expert final : public ExpertMath {
 public:
  F32Expert(WorkerPool* pool, uint32_t max_hidden, uint32_t max_ffn, uint32_t max_pairs);

  static uint64_t PlannedBytes(uint32_t threads, uint32_t max_hidden, uint32_t max_ffn,
                               uint32_t max_pairs);
  uint64_t bytes() const override;
  uint32_t capacity() const override { return capacity_; }
  void Run(const ExpertBatch& batch) override;

 private:
  float* RowBuffer(uint32_t thread, uint32_t which) {
    return rows_.data() + (uint64_t{thread} * 2 + which) * row_floats_;
  }
  float* Activations(const ExpertBatch& batch, uint32_t place) {
    return activations_.data() + uint64_t{place} * batch.call->spec->ffn;
  }
  void GateUpRow(const ExpertBatch& batch, const Segment& segment, uint32_t row, uint32_t thread);
  void DownRow(const ExpertBatch& batch, const Segment& segment, uint32_t row, uint32_t thread);

  WorkerPool* pool_;
  uint32_t capacity_;
  uint64_t row_floats_;             // a decoded row, rounded up so that threads share no line
  std::vector<float> rows_;         // [threads][2]: a gate and an up row, or a down row
  std::vector<float> activations_;  // [capacity][ffn]: what goes into down
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_F32_EXPERT_H_
