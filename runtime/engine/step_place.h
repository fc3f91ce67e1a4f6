// StepPlace: the memory of one step under way. Made at open, reused for ever.
#ifndef BERTH_RUNTIME_ENGINE_STEP_PLACE_H_
#define BERTH_RUNTIME_ENGINE_STEP_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/runtime.h"
#include "kernels/expert/grouped_call.h"

namespace berth {

enum class StepState : uint8_t { kFree, kFilling, kRunning, kDone };

size_t ElementBytes(DataType type);

// What a place must hold.
struct StepSizes {
  uint32_t max_rows = 0;
  uint32_t top_k = 0;
  uint32_t hidden = 0;
  uint32_t experts = 0;
  bool compute = true;
  bool partials_on_card = false;  // they are not part of the place
  // The card that makes the weighted sums does not reach the caller's memory: they are made here,
  // and copied out when they are done.
  bool stage_y = false;
};

struct StepPlace {
  // The place's part of one registered block that all cards reach: `memory` holds BytesOf(sizes).
  StepPlace(const StepSizes& sizes, std::byte* memory, float* partials_on_card);
  static uint64_t BytesOf(const StepSizes& sizes);

  // Takes over everything of `step` that must outlive Enqueue; x as dense F32.
  void Fill(const Step& step);
  // Once per step: the core's list is as long-lived, but no card reaches it.
  void TakePairs(std::span<const uint32_t> from);
  kernels::ReduceCall Reduce(bool weights_before) const;
  void CopyOut() const;  // y, where it was staged

  StepSizes sizes;
  StepState state = StepState::kFree;
  uint32_t generation = 0;
  Status status;
  uint32_t rows = 0;
  std::span<float> x;                  // [max_rows][hidden]
  std::span<float> weights;            // [max_rows][top_k]
  std::span<int32_t> ids;              // [max_rows][top_k]
  std::span<uint32_t> pairs;           // [max_rows * top_k], by unit
  std::span<kernels::WaveUnit> units;  // of all waves; each distinct unit once
  float* partials = nullptr;           // [max_rows * top_k][hidden], perhaps in card memory
  std::span<std::byte> staged_y;       // [max_rows][hidden] of the widest type
  uint32_t units_used = 0;
  uint32_t pairs_used = 0;
  void* y = nullptr;
  DataType y_type = DataType::kF32;
  size_t y_stride = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_STEP_PLACE_H_
