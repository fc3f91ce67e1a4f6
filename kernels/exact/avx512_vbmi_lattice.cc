// AVX-512 with VBMI: who has the lattice formats.
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {

DotKernel Avx512VbmiLatticeDot(TensorType type) {
  if (const DotKernel kernel = Avx512VbmiIq3Dot(type)) return kernel;
  if (const DotKernel kernel = Avx512VbmiIq2Dot(type)) return kernel;
  if (const DotKernel kernel = Avx512VbmiIq2SDot(type)) return kernel;
  return Avx512VbmiIq1Dot(type);
}

}  // namespace berth::kernels
