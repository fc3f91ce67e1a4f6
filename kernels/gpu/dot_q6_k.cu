#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_q6_k.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kQ6_K, CardQ6_K)

}  // namespace berth::kernels::gpu
