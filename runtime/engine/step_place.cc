#include "runtime/engine/step_place.h"

#include <algorithm>
#include <cstring>

#include "kernels/formats/half.h"

namespace berth {

StepPlace::StepPlace(uint32_t max_rows, uint32_t top_k, uint32_t hidden, uint32_t experts,
                     bool compute) {
  const size_t pairs = static_cast<size_t>(max_rows) * top_k;
  ids.resize(pairs);
  if (!compute) return;
  weights.resize(pairs);
  x.resize(static_cast<size_t>(max_rows) * hidden);
  partials.resize(pairs * hidden);
  units.resize(std::min<size_t>(pairs, experts));
}

void StepPlace::Fill(const Step& step, uint32_t top_k, uint32_t hidden, bool compute) {
  const size_t pairs = static_cast<size_t>(step.rows) * top_k;
  rows = step.rows;
  units_used = 0;
  std::copy_n(step.ids, pairs, ids.begin());
  if (!compute) return;
  std::copy_n(step.weights, pairs, weights.begin());
  y = step.y;
  y_type = step.y_type;
  y_stride = step.y_stride == 0 ? hidden : step.y_stride;
  const size_t stride = step.x_stride == 0 ? hidden : step.x_stride;
  for (uint32_t r = 0; r < step.rows; ++r) {
    float* to = &x[static_cast<size_t>(r) * hidden];
    if (step.x_type == DataType::kF32) {
      std::memcpy(to, static_cast<const float*>(step.x) + r * stride, hidden * sizeof(float));
      continue;
    }
    const uint16_t* from = static_cast<const uint16_t*>(step.x) + r * stride;
    for (uint32_t i = 0; i < hidden; ++i) {
      to[i] =
          step.x_type == DataType::kF16 ? kernels::F16ToF32(from[i]) : kernels::Bf16ToF32(from[i]);
    }
  }
}

kernels::ReduceCall StepPlace::Reduce(uint32_t top_k, uint32_t hidden, bool weights_before) const {
  kernels::ReduceCall call;
  call.rows = rows;
  call.top_k = top_k;
  call.hidden = hidden;
  call.partials = partials.data();
  call.weights = weights.data();
  call.ids = ids.data();
  call.weights_before = weights_before;
  call.y = y;
  call.y_stride = y_stride;
  call.y_type = y_type;
  return call;
}

uint64_t StepPlace::bytes() const {
  return x.size() * sizeof(float) + weights.size() * sizeof(float) + ids.size() * sizeof(int32_t) +
         partials.size() * sizeof(float) + units.size() * sizeof(kernels::WaveUnit);
}

}  // namespace berth
