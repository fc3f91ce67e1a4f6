#include "runtime/engine/step_place.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/formats/half.h"
#include "runtime/base/math.h"

namespace berth {
namespace {

// Gives out parts of a block, or only counts.
class Carver {
 public:
  explicit Carver(std::byte* at) : at_(at) {}
  template <typename T>
  std::span<T> Take(size_t count) {
    T* const first = reinterpret_cast<T*>(at_ + used_);
    used_ += AlignUp(count * sizeof(T), kCardAlign);
    if (at_ == nullptr) return {};
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }
  uint64_t used() const { return used_; }

 private:
  std::byte* at_;
  uint64_t used_ = 0;
};

uint64_t Carve(const StepSizes& sizes, std::byte* memory, StepPlace* place) {
  const size_t pairs = static_cast<size_t>(sizes.max_rows) * sizes.top_k;
  const size_t values = static_cast<size_t>(sizes.max_rows) * sizes.hidden;
  Carver carver(memory);
  const std::span<int32_t> ids = carver.Take<int32_t>(pairs);
  if (place != nullptr) place->ids = ids;
  if (!sizes.compute) return carver.used();
  const std::span<uint32_t> list = carver.Take<uint32_t>(pairs);
  const std::span<float> weights = carver.Take<float>(pairs);
  const std::span<float> x = carver.Take<float>(values);
  const std::span<kernels::WaveUnit> units =
      carver.Take<kernels::WaveUnit>(std::min<size_t>(pairs, sizes.experts));
  const std::span<std::byte> y = carver.Take<std::byte>(sizes.stage_y ? values * sizeof(float) : 0);
  const std::span<float> partials =
      carver.Take<float>(sizes.partials_on_card ? 0 : pairs * sizes.hidden);
  if (place == nullptr) return carver.used();
  place->pairs = list;
  place->weights = weights;
  place->x = x;
  place->units = units;
  place->staged_y = y;
  if (!sizes.partials_on_card) place->partials = partials.data();
  return carver.used();
}

}  // namespace

size_t ElementBytes(DataType type) { return type == DataType::kF32 ? 4 : 2; }

StepPlace::StepPlace(const StepSizes& step_sizes, std::byte* memory, float* partials_on_card)
    : sizes(step_sizes), partials(partials_on_card) {
  Carve(sizes, memory, this);
}

uint64_t StepPlace::BytesOf(const StepSizes& sizes) { return Carve(sizes, nullptr, nullptr); }

void StepPlace::Fill(const Step& step) {
  const size_t hidden = sizes.hidden;
  const size_t count = static_cast<size_t>(step.rows) * sizes.top_k;
  rows = step.rows;
  units_used = pairs_used = 0;
  std::copy_n(step.ids, count, ids.begin());
  if (!sizes.compute) return;
  std::copy_n(step.weights, count, weights.begin());
  y = step.y;
  y_type = step.y_type;
  y_stride = step.y_stride == 0 ? hidden : step.y_stride;
  const size_t stride = step.x_stride == 0 ? hidden : step.x_stride;
  for (uint32_t r = 0; r < step.rows; ++r) {
    float* to = &x[r * hidden];
    if (step.x_type == DataType::kF32) {
      std::memcpy(to, static_cast<const float*>(step.x) + r * stride, hidden * sizeof(float));
      continue;
    }
    const uint16_t* from = static_cast<const uint16_t*>(step.x) + r * stride;
    for (size_t i = 0; i < hidden; ++i) {
      to[i] =
          step.x_type == DataType::kF16 ? kernels::F16ToF32(from[i]) : kernels::Bf16ToF32(from[i]);
    }
  }
}

void StepPlace::TakePairs(std::span<const uint32_t> from) {
  if (pairs_used == from.size()) return;
  std::copy(from.begin(), from.end(), pairs.begin());
  pairs_used = static_cast<uint32_t>(from.size());
}

kernels::ReduceCall StepPlace::Reduce(bool weights_before) const {
  kernels::ReduceCall call;
  call.rows = rows;
  call.top_k = sizes.top_k;
  call.hidden = sizes.hidden;
  call.partials = partials;
  call.weights = weights.data();
  call.ids = ids.data();
  call.weights_before = weights_before;
  call.y = sizes.stage_y ? staged_y.data() : y;
  call.y_stride = sizes.stage_y ? sizes.hidden : y_stride;
  call.y_type = y_type;
  return call;
}

void StepPlace::CopyOut() const {
  if (!sizes.stage_y) return;
  const size_t element = ElementBytes(y_type);
  const size_t row = sizes.hidden * element;
  for (uint32_t r = 0; r < rows; ++r) {
    std::memcpy(static_cast<std::byte*>(y) + r * y_stride * element, &staged_y[r * row], row);
  }
}

}  // namespace berth
