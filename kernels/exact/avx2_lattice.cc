// AVX2: the formats whose weights are points of a lattice (IQ1, IQ2, IQ3).
#include "kernels/exact/avx2_frame.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {

DotKernel Avx2LatticeDot(TensorType) { return nullptr; }

}  // namespace berth::kernels
