#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_float4.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kMXFP4, CardMxfp4)
BERTH_TUNED_KERNELS(kNVFP4, CardNvfp4)

}  // namespace berth::kernels::gpu
