// The kernels of the exact arithmetic (docs/arithmetic.md), one set per instruction set.
//
// The scalar set is the definition; every other set gives the same bits for every input. All of
// them expect the float environment of FloatMode (float_mode.h): round to nearest even, denormals
// kept.
#ifndef BERTH_KERNELS_EXACT_EXACT_KERNELS_H_
#define BERTH_KERNELS_EXACT_EXACT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "berth/types.h"
#include "kernels/exact/isa.h"
#include "kernels/expert/expert_spec.h"
#include "kernels/formats/format.h"

namespace berth::kernels {

// An input row, once as it is and once in 8 bits. The arrays of the latter are 64-aligned and run
// to the next multiple of 256 columns, where the padding is all zero.
struct ActivationRow {
  const float* x = nullptr;       // [cols]
  const int8_t* q = nullptr;      // -127 to 127
  const float* d = nullptr;       // per 32 columns: x is about d * q
  const int16_t* sums = nullptr;  // of q, per 16 columns
  const float* s = nullptr;       // per 32 columns: d * (sum of q), rounded once
};

// At most as many rows in one call of a dot kernel.
inline constexpr uint32_t kMaxDotRows = 8;

// out[r * out_stride + w] = weight row w . activation row r, for w in [0, weight_rows) and r in
// [0, row_count). Reads weight_rows * row_bytes bytes from `weights` (no alignment) and not one
// more. `cols` is a multiple of the type's block. Results that are no number are the quiet NaN
// 0x7fc00000.
struct DotCall {
  const Format* format = nullptr;
  const std::byte* weights = nullptr;
  size_t row_bytes = 0;
  uint32_t weight_rows = 0;
  uint32_t cols = 0;
  const ActivationRow* rows = nullptr;
  uint32_t row_count = 0;  // 1 to kMaxDotRows
  float* out = nullptr;
  size_t out_stride = 0;
};
using DotKernel = void (*)(const DotCall& call);

// Fills q, d, sums and s of a row, padding included. False if a value is infinite or no number: its
// block then has q = 0 and d = s = NaN, so that nothing that uses it is a number.
using QuantizeKernel = bool (*)(const float* x, uint32_t cols, int8_t* q, float* d, int16_t* sums,
                                float* s);

// to[i] = activation of gate[i] and up[i]; `gate` is ignored where the conventions have none. `to`
// may be one of the two.
using ActivateKernel = void (*)(const ExpertConventions& conventions, const float* gate,
                                const float* up, uint32_t count, float* to);

// Decodes `blocks` whole blocks of the format: format.decode's bits, except that which NaN a weight
// that is no number becomes may differ. Reads exactly blocks * block_bytes bytes (no alignment).
using DecodeKernel = void (*)(const Format& format, const std::byte* from, size_t blocks,
                              float* to);

// The wide arithmetic's products, some columns of some weight rows:
//   sums[p][r][l] = what was there + weight row r . column l of panel p
// by multiply-adds that round once, columns ascending. Sums that are no number are the quiet NaN
// 0x7fc00000.
inline constexpr uint32_t kWideRows = 16;   // weight rows, at most
inline constexpr uint32_t kWideCols = 256;  // columns, at most: all that is used stays near
inline constexpr uint32_t kWideLanes = 16;  // activation rows of a panel
struct WideCall {
  const float* weights = nullptr;  // [rows][kWideCols]
  uint32_t rows = 0;
  uint32_t cols = 0;
  const float* panels = nullptr;  // [panel_count][cols][kWideLanes], 64-aligned
  size_t panel_stride = 0;        // floats from panel to panel, a multiple of 16
  uint32_t panel_count = 0;
  float* sums = nullptr;  // [panel_count][kWideRows][kWideLanes]
};
using WideKernel = void (*)(const WideCall& call);

struct ExactKernels {
  Isa isa = Isa::kScalar;
  QuantizeKernel quantize = nullptr;
  ActivateKernel activate = nullptr;
  WideKernel wide = nullptr;
  // Never null for the type of a Format.
  DecodeKernel (*decode)(TensorType type) = nullptr;
  // Never null for the type of a Format.
  DotKernel (*dot)(TensorType type) = nullptr;
};

// Of a set that is among UsableIsas().
const ExactKernels& KernelsOf(Isa isa);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_EXACT_KERNELS_H_
