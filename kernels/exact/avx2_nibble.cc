// AVX2: the formats whose weights are small numbers or nibbles of a table.
#include "kernels/exact/avx2_frame.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {

DotKernel Avx2NibbleDot(TensorType) { return nullptr; }

}  // namespace berth::kernels
