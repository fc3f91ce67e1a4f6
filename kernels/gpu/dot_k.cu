#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_k.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kQ4_K, CardQ4_K)
BERTH_TUNED_KERNELS(kQ5_K, CardQ5_K)

}  // namespace berth::kernels::gpu
