// The formats, one constant each, defined in the file of their family.
#ifndef BERTH_KERNELS_FORMATS_FORMAT_LIST_H_
#define BERTH_KERNELS_FORMATS_FORMAT_LIST_H_

#include "kernels/formats/format.h"

namespace berth::kernels {

extern const Format kFormatF16, kFormatBf16;                             // plain.cc
extern const Format kFormatQ4_0, kFormatQ4_1, kFormatQ5_0, kFormatQ5_1;  // legacy.cc
extern const Format kFormatQ8_0, kFormatQ1_0, kFormatQ2_0;               // legacy.cc
extern const Format kFormatQ2_K, kFormatQ3_K, kFormatQ4_K, kFormatQ5_K;  // k_quants.cc
extern const Format kFormatQ6_K;                                         // k_quants.cc
extern const Format kFormatIq1_S, kFormatIq1_M;                          // iq1.cc
extern const Format kFormatIq2_Xxs, kFormatIq2_Xs, kFormatIq2_S;         // iq2.cc
extern const Format kFormatIq3_Xxs, kFormatIq3_S;                        // iq3.cc
extern const Format kFormatIq4_Nl, kFormatIq4_Xs;                        // iq4.cc
extern const Format kFormatTq1_0, kFormatTq2_0;                          // ternary.cc
extern const Format kFormatMxfp4, kFormatNvfp4;                          // float4.cc

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_FORMAT_LIST_H_
