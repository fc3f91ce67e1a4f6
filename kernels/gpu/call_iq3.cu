#include "kernels/gpu/call_instance.h"
#include "kernels/gpu/formats/card_iq3.h"
#include "kernels/gpu/formats/card_iq4.h"

namespace berth::kernels::gpu {

BERTH_CALL_KERNEL(Iq3_S_Iq4_Nl, kIQ3_S, CardIq3_S, kIQ4_NL, CardIq4_Nl)
BERTH_CALL_KERNEL(Iq3_Xxs_Iq4_Nl, kIQ3_XXS, CardIq3_Xxs, kIQ4_NL, CardIq4_Nl)

}  // namespace berth::kernels::gpu
