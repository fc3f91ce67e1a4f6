// Which instruction set the host's expert math runs on. Every set gives the same bits.
#ifndef BERTH_KERNELS_EXACT_ISA_H_
#define BERTH_KERNELS_EXACT_ISA_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/status.h"

namespace berth::kernels {

// Each includes those before it.
enum class Isa : uint8_t {
  kScalar,      // portable C++, the reference
  kAvx2,        // AVX2, FMA, F16C
  kAvx512,      // AVX-512 F, BW, DQ, VL, VNNI
  kAvx512Vbmi,  // ... and VBMI and GFNI, which come together
};

std::string_view IsaName(Isa isa);  // "scalar", "avx2", "avx512", "avx512-vbmi"
// An unknown name is an InvalidArgument with the nearest one.
Result<Isa> ParseIsa(std::string_view name);
// The best that this build has and this processor (and its operating system) runs.
Isa BestIsa();
// All that can run here, the scalar one first.
std::span<const Isa> UsableIsas();

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_ISA_H_
