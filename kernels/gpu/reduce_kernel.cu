#include "kernels/gpu/card_elementwise.h"
#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/reduce_kernel.h"

namespace berth::kernels::gpu {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kMostBlocks = 4096;

// F32ToF16 and F32ToBf16 of kernels/formats/half.h.
BERTH_CARD uint16_t F16OfFloat(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 143u << 23) return static_cast<uint16_t>(sign | 0x7c00);  // 2^16 and above
  if (magnitude < 102u << 23) return static_cast<uint16_t>(sign);  // below half of a denormal
  const bool denormal = magnitude < 113u << 23;
  const uint32_t mantissa = denormal ? (magnitude & 0x7fffff) | 0x800000 : magnitude - (112u << 23);
  const uint32_t shift = denormal ? 126 - (magnitude >> 23) : 13;
  const uint32_t odd = mantissa >> shift & 1;
  return static_cast<uint16_t>(sign | (mantissa + (1u << (shift - 1)) - 1 + odd) >> shift);
}
BERTH_CARD uint16_t Bf16OfFloat(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value == value ? rounded : bits >> 16 | 0x40);
}

BERTH_CARD_ONLY void Store(float value, DataType type, void* y, size_t at) {
  if (type == DataType::kF32) {
    static_cast<float*>(y)[at] = value;
  } else if (type == DataType::kF16) {
    static_cast<uint16_t*>(y)[at] = F16OfFloat(value);
  } else {
    static_cast<uint16_t*>(y)[at] = Bf16OfFloat(value);
  }
}

BERTH_KERNEL(kThreads, 1) ReduceKernel(const BERTH_GRID_CONSTANT ReduceCall call) {
  WaitForLastLaunch();
  NextLaunchMayStart();
  const uint64_t count = static_cast<uint64_t>(call.rows) * call.hidden;
  for (uint64_t i = static_cast<uint64_t>(BlockIndex()) * kThreads + ThreadIndex(); i < count;
       i += static_cast<uint64_t>(GridBlocks()) * kThreads) {
    const uint64_t row = i / call.hidden;
    const auto col = static_cast<uint32_t>(i % call.hidden);
    float sum = 0.0f;
    for (uint32_t k = 0; k < call.top_k; ++k) {
      const uint64_t pair = row * call.top_k + k;
      if (call.ids[pair] < 0) continue;
      const float weight = call.weights_before ? 1.0f : call.weights[pair];
      sum = Add(sum, Mul(weight, call.partials[pair * call.hidden + col]));
    }
    Store(Canonical(sum), call.y_type, call.y, row * call.y_stride + col);
  }
}

}  // namespace

gpuError_t PrepareReduceKernel() { return gpuPrepareKernel(ReduceKernel, 0); }

gpuError_t LaunchReduceKernel(const ReduceCall& call, gpuStream_t stream) {
  const uint64_t count = uint64_t{call.rows} * call.hidden;
  if (count == 0) return gpuSuccess;
  const uint64_t blocks = (count + kThreads - 1) / kThreads;
  return gpuLaunch(ReduceKernel, static_cast<uint32_t>(blocks < kMostBlocks ? blocks : kMostBlocks),
                   kThreads, 0, stream, true, call);
}

}  // namespace berth::kernels::gpu
