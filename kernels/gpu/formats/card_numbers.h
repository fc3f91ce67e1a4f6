// The scales that blocks hold, as floats: F16, and half of E8M0 and of UE4M3 (the levels of MXFP4
// and NVFP4 are stored doubled). The values are those of kernels/formats, save for the bits of NaN.
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_NUMBERS_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_NUMBERS_H_

#include <cstdint>
#include <cstring>

#include "kernels/gpu/card_code.h"

#if defined(BERTH_ON_NVIDIA)
#include <cuda_fp16.h>
#elif !defined(BERTH_ON_RADEON)
#include "kernels/formats/half.h"
#endif

namespace berth::kernels::gpu {

// The F16 in the lower half of `bits`; the upper half is 0.
BERTH_CARD float FloatOfF16(uint32_t bits) {
#if defined(BERTH_ON_NVIDIA)
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
#elif defined(BERTH_ON_RADEON)
  const auto half = static_cast<uint16_t>(bits);
  _Float16 value;
  __builtin_memcpy(&value, &half, sizeof(value));
  return static_cast<float>(value);
#else
  return F16ToF32(static_cast<uint16_t>(bits));
#endif
}

// 2^(e - 128).
BERTH_CARD float HalfOfE8m0(uint32_t e) {
  return FloatOf(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

// The top bit of `code` is ignored, but 0x7f alone reads as zero. The product is exact, denormals
// included: it only moves the exponent from a bias of 127 to one of 7, and halves.
BERTH_CARD float HalfOfUe4m3(uint32_t code) {
  const float value = FloatOf((code & 0x7f) << 20) * 0x1p+119f;
  return code == 0x7f ? 0.0f : value;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_NUMBERS_H_
