#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_k_few_bits.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kQ2_K, CardQ2_K)
BERTH_TUNED_KERNELS(kQ3_K, CardQ3_K)

}  // namespace berth::kernels::gpu
