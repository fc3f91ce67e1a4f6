#include "kernels/gpu/few_plan.h"

#include <algorithm>

#include "kernels/gpu/dot_plan.h"
#include "runtime/base/math.h"

namespace berth::kernels::gpu {
namespace {

constexpr uint32_t kColumnStep = 256;  // columns of a stage are a multiple of this
constexpr uint32_t kMostWindows = 8;   // that the inputs of down come in

// Two stages of as many columns as there is room for, and more of these where they fit; or one of a
// whole row. `room`: of a warp.
bool CutStages(const TunedKernels& kernels, uint32_t room, ProductArgs* a) {
  const auto cut = [&](uint32_t cols) {
    const uint32_t bytes = std::min(cols, a->cols) / kernels.elements * kernels.bytes;
    const auto slot = static_cast<uint32_t>(RowSlotBytes(bytes));
    a->chunk_cols = cols;
    a->row_stride = slot;
    a->depth = std::min(room / (8 * slot), kFewMostDepth);
    return a->depth;
  };
  const auto whole = static_cast<uint32_t>(AlignUp(a->cols, kColumnStep));
  const bool fits = cut(whole) > 0;
  if (a->depth > 1) return true;
  for (uint32_t cols = whole - kColumnStep; cols > 0 && cols < whole; cols -= kColumnStep) {
    if (cut(cols) > 1) return true;
  }
  return fits && cut(whole) > 0;
}

// Everything in front of the stages; false: there is no room.
bool PlanBlock(const TunedKernels& kernels, const FewKernel& kernel, uint32_t room, uint32_t sums,
               FewArgs* args) {
  ProductArgs& a = args->product;
  const uint32_t pairs = args->source.pair_count;
  FewPlaces& at = args->at;
  uint32_t bytes = kFewWords * 4;
  const auto take = [&](uint64_t more) {
    const uint32_t place = bytes;
    bytes += static_cast<uint32_t>(AlignUp(more, 16));
    return place;
  };
  at.units = take(pairs * sizeof(CardUnit));
  at.pairs = take(pairs * sizeof(uint32_t));
  at.scratch = take(4 * std::max(WorkListWords(args->source), kFewMostRows + 2 * pairs));
  at.table = take(kernel.table_bytes);
  at.local = take(a.local_rows * uint64_t{LocalRowBytes(a.cols, kernels.halves)});
  at.sums = take(4 * uint64_t{sums});
  at.stages = bytes;
  if (bytes > room) return false;
  if (!CutStages(kernels, (room - bytes) / kFewWarps, &a)) return false;
  at.bytes = bytes + kFewWarps * a.depth * 8 * a.row_stride;
  return true;
}

bool Fits(const PrepareArgs& prepare, const ProductArgs& gate_up, const ProductArgs& down) {
  return prepare.pair_count <= kFewMostPairs && prepare.rows <= kFewMostRows &&
         prepare.unit_count <= kFewMostPairs && gate_up.wide_over == kNoneWide &&
         down.wide_over == kNoneWide;
}

FewArgs ArgsOf(const PrepareArgs& prepare, const ProductArgs& product) {
  FewArgs args;
  args.source = prepare;
  args.product = product;
  args.unit_pairs = std::min(prepare.rows, kFewUnitPairs);
  args.product.row_step = product.row_bytes[0] % 4 == 2 ? 2 : 1;
  return args;
}

// Tiles of so many rows, or of every second row in two tiles.
uint32_t TilesOf(const ProductArgs& a, uint32_t rows) {
  return static_cast<uint32_t>(CeilDiv(a.rows, rows * a.row_step)) * a.row_step;
}

}  // namespace

bool PlanFew(const PrepareArgs& prepare, const ProductArgs& gate_up, const ProductArgs& down,
             uint32_t processors, FewCall* call) {
  const TunedKernels* const first = FindTunedKernels(gate_up);
  const TunedKernels* const second = FindTunedKernels(down);
  size_t block_bytes = 0;
  if (!kHaveFewKernels || first == nullptr || second == nullptr || !Fits(prepare, gate_up, down) ||
      gpuBlockSharedBytes(&block_bytes) != gpuSuccess) {
    return false;
  }
  const auto room =
      static_cast<uint32_t>((block_bytes + kReservedBytes) / kFewBlocks - kReservedBytes) & ~15u;
  call->gate_up = ArgsOf(prepare, gate_up);
  call->gate_up.product.local_rows = prepare.rows;
  call->gate_up.tiles = TilesOf(call->gate_up.product, gate_up.matrices == 2 ? 4 : 8);
  if (!PlanBlock(*first, first->few_gate_up, room, 0, &call->gate_up)) return false;
  call->down = ArgsOf(prepare, down);
  call->down.tiles = TilesOf(call->down.product, 4);
  const auto rows = static_cast<uint32_t>(4 * CeilDiv(call->down.tiles, processors));
  const uint32_t sums = down.y == nullptr ? 0 : prepare.pair_count * rows;
  // The inputs of all pairs, or of a half, a third and so on, but of two units at least.
  for (uint32_t windows = 1; windows <= kMostWindows; ++windows) {
    const auto part = static_cast<uint32_t>(CeilDiv(prepare.pair_count, windows));
    call->down.product.local_rows =
        std::min(std::max(part, 2 * call->down.unit_pairs), prepare.pair_count);
    if (PlanBlock(*second, second->few_down, room, sums, &call->down)) return true;
  }
  return false;
}

gpuError_t LaunchFew(const FewCall& call, uint32_t processors, gpuStream_t stream) {
  const TunedKernels& first = *FindTunedKernels(call.gate_up.product);
  const TunedKernels& second = *FindTunedKernels(call.down.product);
  const gpuError_t error = first.few_gate_up.launch(call.gate_up, processors, stream);
  return error != gpuSuccess ? error : second.few_down.launch(call.down, processors, stream);
}

}  // namespace berth::kernels::gpu
