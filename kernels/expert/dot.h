// The F32 dot product whose bits depend on its operands alone.
#ifndef BERTH_KERNELS_EXPERT_DOT_H_
#define BERTH_KERNELS_EXPERT_DOT_H_

#include <cstdint>
#include <cstring>

namespace berth::kernels {

// Four floats of GCC's and clang's portable vectors: a loop over sixteen plain floats is correct
// too, but compilers keep those sums in memory and take four times as long.
using Float4 = float __attribute__((vector_size(16)));

inline Float4 LoadFloat4(const float* from) {
  Float4 value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Sixteen running sums, element i in sum i mod 16, each in ascending order, then halved pairwise
// (s and s + 8, s + 4, s + 2, s + 1): a fixed order that vector units of up to 512 bits can keep.
inline float Dot(const float* a, const float* b, uint32_t count) {
  Float4 sums[4] = {};
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) {
    sums[0] += LoadFloat4(a + i) * LoadFloat4(b + i);
    sums[1] += LoadFloat4(a + i + 4) * LoadFloat4(b + i + 4);
    sums[2] += LoadFloat4(a + i + 8) * LoadFloat4(b + i + 8);
    sums[3] += LoadFloat4(a + i + 12) * LoadFloat4(b + i + 12);
  }
  // Only rows of F16 and BF16 may end between multiples of 16.
  for (uint32_t lane = 0; i + lane < count; ++lane) {
    sums[lane / 4][lane % 4] += a[i + lane] * b[i + lane];
  }
  const Float4 four = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_DOT_H_
