#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_iq2.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kIQ2_XXS, CardIq2_Xxs)
BERTH_TUNED_KERNELS(kIQ2_XS, CardIq2_Xs)
BERTH_TUNED_KERNELS(kIQ2_S, CardIq2_S)

}  // namespace berth::kernels::gpu
