// The sets of kernels, each made by the files that are compiled for its instruction set.
#ifndef BERTH_KERNELS_EXACT_KERNEL_SETS_H_
#define BERTH_KERNELS_EXACT_KERNEL_SETS_H_

#include "kernels/exact/exact_kernels.h"

namespace berth::kernels {

const ExactKernels& ScalarKernels();

// Null where a set has no kernel of its own for the type. In the order of preference within one
// instruction set: hand-tuned ones, then the one that takes every format apart in plain code.
DotKernel Avx2LatticeDot(TensorType type);  // IQ1, IQ2, IQ3
DotKernel Avx2LegacyDot(TensorType type);   // Q4_0, Q4_1, Q5_0, Q5_1, Q8_0
DotKernel Avx2TableDot(TensorType type);    // IQ4, MXFP4, NVFP4
DotKernel Avx2KDot(TensorType type);        // Q2_K to Q6_K
DotKernel Avx2FewBitsDot(TensorType type);  // Q1_0, Q2_0, TQ1_0, TQ2_0
DotKernel Avx2AnyDot(TensorType type);      // never null
bool Avx2Quantize(const float* x, uint32_t cols, int8_t* q, float* d, int16_t* sums, float* s);
void Avx2Activate(const ExpertConventions& conventions, const float* gate, const float* up,
                  uint32_t count, float* to);
void Avx2Wide(const WideCall& call);
DecodeKernel Avx2Decode(TensorType type);  // never null

DotKernel Avx512LatticeDot(TensorType type);
DotKernel Avx512VbmiLatticeDot(TensorType type);
DotKernel Avx512VbmiIq3Dot(TensorType type);  // its parts
DotKernel Avx512VbmiIq2Dot(TensorType type);
DotKernel Avx512VbmiIq2SDot(TensorType type);
DotKernel Avx512VbmiIq1Dot(TensorType type);
DotKernel Avx512LegacyDot(TensorType type);    // Q4_0, Q4_1, Q5_0, Q5_1, Q8_0
DotKernel Avx512TableDot(TensorType type);     // IQ4, MXFP4, NVFP4
DotKernel Avx512KDot(TensorType type);         // Q4_K, Q5_K, Q6_K
DotKernel Avx512KFewBitsDot(TensorType type);  // Q2_K, Q3_K
DotKernel Avx512FewBitsDot(TensorType type);   // Q1_0, Q2_0, TQ1_0, TQ2_0
DotKernel Avx512AnyDot(TensorType type);       // never null
bool Avx512Quantize(const float* x, uint32_t cols, int8_t* q, float* d, int16_t* sums, float* s);
void Avx512Activate(const ExpertConventions& conventions, const float* gate, const float* up,
                    uint32_t count, float* to);
void Avx512Wide(const WideCall& call);
DecodeKernel Avx512Decode(TensorType type);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_KERNEL_SETS_H_
