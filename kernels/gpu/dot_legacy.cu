#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_legacy.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kQ4_0, CardQ4_0)
BERTH_TUNED_KERNELS(kQ8_0, CardQ8_0)
BERTH_TUNED_KERNELS(kQ2_0, CardQ2_0)

}  // namespace berth::kernels::gpu
