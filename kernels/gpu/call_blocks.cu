#include "kernels/gpu/call_instance.h"
#include "kernels/gpu/formats/card_float4.h"
#include "kernels/gpu/formats/card_k.h"
#include "kernels/gpu/formats/card_legacy.h"

namespace berth::kernels::gpu {

BERTH_CALL_KERNEL(Q4_K_Q4_0, kQ4_K, CardQ4_K, kQ4_0, CardQ4_0)
BERTH_CALL_KERNEL(Mxfp4_Mxfp4, kMXFP4, CardMxfp4, kMXFP4, CardMxfp4)

}  // namespace berth::kernels::gpu
