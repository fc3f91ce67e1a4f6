// StepPlace: the memory of one step under way. Made at open, reused for ever.
#ifndef BERTH_RUNTIME_ENGINE_STEP_PLACE_H_
#define BERTH_RUNTIME_ENGINE_STEP_PLACE_H_

#include <cstdint>
#include <vector>

#include "berth/runtime.h"
#include "kernels/expert/grouped_call.h"

namespace berth {

enum class StepState : uint8_t { kFree, kFilling, kRunning, kDone };

struct StepPlace {
  StepPlace(uint32_t max_rows, uint32_t top_k, uint32_t hidden, uint32_t experts, bool compute);
  // Takes over everything of `step` that must outlive Enqueue; x as dense F32.
  void Fill(const Step& step, uint32_t top_k, uint32_t hidden, bool compute);
  kernels::ReduceCall Reduce(uint32_t top_k, uint32_t hidden, bool weights_before) const;
  uint64_t bytes() const;

  StepState state = StepState::kFree;
  uint32_t generation = 0;
  Status status;
  uint32_t rows = 0;
  std::vector<float> x;                  // [max_rows][hidden]
  std::vector<float> weights;            // [max_rows][top_k]
  std::vector<int32_t> ids;              // [max_rows][top_k]
  std::vector<float> partials;           // [max_rows * top_k][hidden]
  std::vector<kernels::WaveUnit> units;  // of all waves; each distinct unit once
  uint32_t units_used = 0;
  void* y = nullptr;
  DataType y_type = DataType::kF32;
  size_t y_stride = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_STEP_PLACE_H_
