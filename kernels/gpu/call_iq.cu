#include "kernels/gpu/call_instance.h"
#include "kernels/gpu/formats/card_iq2.h"
#include "kernels/gpu/formats/card_iq4.h"
#include "kernels/gpu/formats/card_legacy.h"

namespace berth::kernels::gpu {

BERTH_CALL_KERNEL(Iq2_S_Q2_0, kIQ2_S, CardIq2_S, kQ2_0, CardQ2_0)
BERTH_CALL_KERNEL(Iq4_Xs_Iq4_Nl, kIQ4_XS, CardIq4_Xs, kIQ4_NL, CardIq4_Nl)

}  // namespace berth::kernels::gpu
