// AVX-512: see avx2_lattice.cc.
#include "kernels/exact/avx512_frame.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {

DotKernel Avx512VbmiLatticeDot(TensorType) { return nullptr; }

}  // namespace berth::kernels
