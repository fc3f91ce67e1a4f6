// Four-bit formats whose nibbles index sixteen levels (IQ4, MXFP4, NVFP4).
#ifndef BERTH_KERNELS_FORMATS_TABLE16_H_
#define BERTH_KERNELS_FORMATS_TABLE16_H_

#include <cstdint>

namespace berth::kernels {

// 2 x kHalf weights from kHalf bytes: low nibbles first.
template <int kHalf>
inline void UnpackNibbles(const uint8_t* __restrict qs, const int8_t (&levels)[16],
                          int8_t* __restrict to) {
  for (int i = 0; i < kHalf; ++i) {
    to[i] = levels[qs[i] & 15];
    to[i + kHalf] = levels[qs[i] >> 4];
  }
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_TABLE16_H_
