#include "kernels/gpu/dot_instance.h"
#include "kernels/gpu/formats/card_iq4.h"

namespace berth::kernels::gpu {

BERTH_TUNED_KERNELS(kIQ4_NL, CardIq4_Nl)
BERTH_TUNED_KERNELS(kIQ4_XS, CardIq4_Xs)

}  // namespace berth::kernels::gpu
