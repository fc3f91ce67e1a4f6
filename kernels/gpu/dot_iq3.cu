#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_iq3.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kIQ3_XXS, CardIq3_Xxs)
BERTH_TUNED_KERNELS(kIQ3_S, CardIq3_S)

}  // namespace berth::kernels::gpu
