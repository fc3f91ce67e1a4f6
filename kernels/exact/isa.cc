#include "kernels/exact/isa.h"

#if defined(BERTH_HAVE_X86_KERNELS)
#include <cpuid.h>
#endif

#include <array>
#include <string>

#include "kernels/exact/kernel_sets.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::kernels {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"scalar", "avx2", "avx512", "avx512-vbmi"};
constexpr std::array<Isa, 4> kIsas = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vbmi};

#if defined(BERTH_HAVE_X86_KERNELS)
// clang's __builtin_cpu_supports does not know this one. Its registers are AVX2's.
bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

// __builtin_cpu_supports asks the operating system, too: whether it saves the wide registers.
bool Runs(Isa isa) {
#if defined(BERTH_HAVE_X86_KERNELS)
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c();
    case Isa::kAvx512:
      return Runs(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    case Isa::kAvx512Vbmi:
      return Runs(Isa::kAvx512) && __builtin_cpu_supports("avx512vbmi") &&
             __builtin_cpu_supports("gfni");
  }
#endif
  return isa == Isa::kScalar;
}

size_t CountUsable() {
  size_t count = 1;
  while (count < kIsas.size() && Runs(kIsas[count])) ++count;
  return count;
}

#if defined(BERTH_HAVE_X86_KERNELS)

DotKernel FindAvx2(TensorType type) {
  if (const DotKernel kernel = Avx2LatticeDot(type)) return kernel;
  if (const DotKernel kernel = Avx2LegacyDot(type)) return kernel;
  if (const DotKernel kernel = Avx2TableDot(type)) return kernel;
  if (const DotKernel kernel = Avx2KDot(type)) return kernel;
  if (const DotKernel kernel = Avx2FewBitsDot(type)) return kernel;
  return Avx2AnyDot(type);
}
DotKernel FindAvx512(TensorType type) {
  if (const DotKernel kernel = Avx512LatticeDot(type)) return kernel;
  if (const DotKernel kernel = Avx512LegacyDot(type)) return kernel;
  if (const DotKernel kernel = Avx512TableDot(type)) return kernel;
  if (const DotKernel kernel = Avx512KDot(type)) return kernel;
  if (const DotKernel kernel = Avx512KFewBitsDot(type)) return kernel;
  if (const DotKernel kernel = Avx512FewBitsDot(type)) return kernel;
  return Avx512AnyDot(type);
}
DotKernel FindAvx512Vbmi(TensorType type) {
  if (const DotKernel kernel = Avx512VbmiLatticeDot(type)) return kernel;
  return FindAvx512(type);
}

constexpr ExactKernels kAvx2 = {Isa::kAvx2, &Avx2Quantize, &Avx2Activate,
                                &Avx2Wide,  &Avx2Decode,   &FindAvx2};
constexpr ExactKernels kAvx512 = {Isa::kAvx512, &Avx512Quantize, &Avx512Activate,
                                  &Avx512Wide,  &Avx512Decode,   &FindAvx512};
constexpr ExactKernels kAvx512Vbmi = {Isa::kAvx512Vbmi, &Avx512Quantize, &Avx512Activate,
                                      &Avx512Wide,      &Avx512Decode,   &FindAvx512Vbmi};

#endif

}  // namespace

std::string_view IsaName(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

Result<Isa> ParseIsa(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return kIsas[i];
  }
  return InvalidArgumentError("no instruction set is called '" + std::string(name) + "'" +
                              DidYouMean(name, kNames));
}

std::span<const Isa> UsableIsas() {
  static const size_t count = CountUsable();
  return std::span(kIsas).first(count);
}

Isa BestIsa() { return UsableIsas().back(); }

const ExactKernels& KernelsOf(Isa isa) {
  BERTH_CHECK_MSG(isa <= BestIsa(), "kernels for an instruction set that does not run here");
#if defined(BERTH_HAVE_X86_KERNELS)
  if (isa == Isa::kAvx2) return kAvx2;
  if (isa == Isa::kAvx512) return kAvx512;
  if (isa == Isa::kAvx512Vbmi) return kAvx512Vbmi;
#endif
  return ScalarKernels();
}

}  // namespace berth::kernels
