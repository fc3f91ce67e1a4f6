// All decoders, for code that is made for each of them.
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_FORMATS_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_FORMATS_H_

#include "kernels/gpu/formats/card_five_bits.h"
#include "kernels/gpu/formats/card_float4.h"
#include "kernels/gpu/formats/card_iq1.h"
#include "kernels/gpu/formats/card_iq2.h"
#include "kernels/gpu/formats/card_iq3.h"
#include "kernels/gpu/formats/card_iq4.h"
#include "kernels/gpu/formats/card_k.h"
#include "kernels/gpu/formats/card_k_few_bits.h"
#include "kernels/gpu/formats/card_legacy.h"
#include "kernels/gpu/formats/card_q6_k.h"
#include "kernels/gpu/formats/card_ternary.h"

// Calls X(enumerator of TensorType, decoder) for each format whose kernels are tuned.
#define BERTH_FOR_EACH_TUNED_CARD_FORMAT(X) \
  X(kQ4_0, CardQ4_0)                        \
  X(kQ8_0, CardQ8_0)                        \
  X(kQ2_K, CardQ2_K)                        \
  X(kQ3_K, CardQ3_K)                        \
  X(kQ4_K, CardQ4_K)                        \
  X(kQ5_K, CardQ5_K)                        \
  X(kQ6_K, CardQ6_K)                        \
  X(kIQ2_XXS, CardIq2_Xxs)                  \
  X(kIQ2_XS, CardIq2_Xs)                    \
  X(kIQ3_XXS, CardIq3_Xxs)                  \
  X(kIQ4_NL, CardIq4_Nl)                    \
  X(kIQ3_S, CardIq3_S)                      \
  X(kIQ2_S, CardIq2_S)                      \
  X(kIQ4_XS, CardIq4_Xs)                    \
  X(kMXFP4, CardMxfp4)                      \
  X(kNVFP4, CardNvfp4)                      \
  X(kQ2_0, CardQ2_0)

// The same for the other quantized formats, which the plain kernel alone takes.
#define BERTH_FOR_EACH_PLAIN_CARD_FORMAT(X) \
  X(kQ4_1, CardQ4_1)                        \
  X(kQ5_0, CardQ5_0)                        \
  X(kQ5_1, CardQ5_1)                        \
  X(kIQ1_S, CardIq1_S)                      \
  X(kIQ1_M, CardIq1_M)                      \
  X(kTQ1_0, CardTq1_0)                      \
  X(kTQ2_0, CardTq2_0)                      \
  X(kQ1_0, CardQ1_0)

#define BERTH_FOR_EACH_CARD_FORMAT(X) \
  BERTH_FOR_EACH_TUNED_CARD_FORMAT(X) \
  BERTH_FOR_EACH_PLAIN_CARD_FORMAT(X)

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_FORMATS_H_
