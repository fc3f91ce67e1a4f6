#include <algorithm>
#include <cstring>

#include "kernels/exact/float_mode.h"
#include "kernels/expert/host_expert.h"
#include "kernels/formats/half.h"
#include "runtime/base/check.h"

namespace berth::kernels {
namespace {

// A piece of a row is summed on the stack, so that F16 and BF16 outputs round once.
constexpr uint32_t kPiece = 256;

void SumPiece(const ReduceCall& call, uint64_t row, uint32_t begin, uint32_t count, float* sums) {
  std::fill(sums, sums + count, 0.0f);
  for (uint32_t k = 0; k < call.top_k; ++k) {
    const uint64_t pair = row * call.top_k + k;
    if (call.ids[pair] < 0) continue;
    const float weight = call.weights_before ? 1.0f : call.weights[pair];
    const float* partial = call.partials + pair * call.hidden + begin;
    for (uint32_t i = 0; i < count; ++i) sums[i] += weight * partial[i];
  }
  for (uint32_t i = 0; i < count; ++i) sums[i] = WithOneNan(sums[i]);
}

void StorePiece(const float* sums, uint32_t count, DataType type, void* y, size_t at) {
  if (type == DataType::kF32) {
    std::memcpy(static_cast<float*>(y) + at, sums, count * sizeof(float));
    return;
  }
  auto* to = static_cast<uint16_t*>(y) + at;
  if (type == DataType::kF16) {
    for (uint32_t i = 0; i < count; ++i) to[i] = F32ToF16(sums[i]);
  } else {
    for (uint32_t i = 0; i < count; ++i) to[i] = F32ToBf16(sums[i]);
  }
}

}  // namespace

void HostReduce(const ReduceCall& call) {
  const FloatMode mode;
  BERTH_CHECK(call.rows <= 1 || call.y_stride >= call.hidden);
  float sums[kPiece];
  for (uint32_t row = 0; row < call.rows; ++row) {
    for (uint32_t begin = 0; begin < call.hidden; begin += kPiece) {
      const uint32_t count = std::min(kPiece, call.hidden - begin);
      SumPiece(call, row, begin, count, sums);
      StorePiece(sums, count, call.y_type, call.y, row * call.y_stride + begin);
    }
  }
}

}  // namespace berth::kernels
