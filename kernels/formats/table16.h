// Four-bit formats whose nibbles index sixteen levels (IQ4, MXFP4, NVFP4).
#ifndef BERTH_KERNELS_FORMATS_TABLE16_H_
#define BERTH_KERNELS_FORMATS_TABLE16_H_

#include <cstdint>

namespace berth::kernels {

// The levels under one scale, then 2 x kHalf weights from kHalf bytes: low nibbles first.
template <int kHalf>
inline void DecodeNibbles(const uint8_t* __restrict qs, const int8_t (&levels)[16], float scale,
                          float* __restrict to) {
  float values[16];
  for (int i = 0; i < 16; ++i) values[i] = scale * static_cast<float>(levels[i]);
  for (int i = 0; i < kHalf; ++i) {
    to[i] = values[qs[i] & 15];
    to[i + kHalf] = values[qs[i] >> 4];
  }
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_TABLE16_H_
