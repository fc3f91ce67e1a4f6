#include "kernels/gpu/dot_plan.h"

#include <algorithm>

#include "kernels/gpu/formats/card_formats.h"
#include "kernels/gpu/wide_plan.h"
#include "runtime/base/math.h"

namespace berth::kernels::gpu {

#define BERTH_KERNELS_OF(name, Decoder) extern TunedKernels name##Kernels;
BERTH_FOR_EACH_TUNED_CARD_FORMAT(BERTH_KERNELS_OF)
#undef BERTH_KERNELS_OF

namespace {

const TunedKernels* const kKernels[] = {
#define BERTH_KERNELS_OF(name, Decoder) &name##Kernels,
    BERTH_FOR_EACH_TUNED_CARD_FORMAT(BERTH_KERNELS_OF)
#undef BERTH_KERNELS_OF
};

constexpr uint32_t kFewestWarps = 4;  // with fewer the plain kernel is as good

struct Plan {
  uint32_t blocks = 0;  // of a multiprocessor; 0: the matrices do not fit
  uint32_t warps = 0;
  size_t shared_bytes = 0;
};

const TunedKernels* Find(TensorType type) {
  for (const TunedKernels* kernels : kKernels) {
    if (kernels->type == type) return kernels;
  }
  return nullptr;
}

// Sets how rows lie in a stage; its bytes, with its barrier.
uint64_t CutStage(uint32_t part_rows, ProductArgs* a) {
  const uint64_t row_bytes = a->row_bytes[0];
  a->row_step = row_bytes % 4 == 2 ? 2 : 1;
  // Rows of whole 16 bytes: an odd number of these apart, so that the 16-byte loads of eight lanes
  // meet eight different quarters of the banks. Other rows lie as they come.
  const bool by_row = row_bytes % 16 == 0;
  const uint64_t stride = by_row ? row_bytes + (row_bytes / 16 % 2 == 0 ? 16 : 0) : row_bytes;
  const uint64_t part = AlignUp(part_rows * a->row_step * stride + (by_row ? 16 : 15), 16);
  a->row_stride = by_row ? static_cast<uint32_t>(stride) : 0;
  a->part_bytes = static_cast<uint32_t>(part);
  return 2 * part + sizeof(uint64_t);
}

// As many warps as a block may have, each with stages of its own.
Plan PlanDots(const TunedKernel& kernel, size_t block_bytes, ProductArgs* a) {
  if (kDirect) {
    a->row_step = 1;
    a->row_stride = a->part_bytes = a->depth = 0;
    return {kernel.table_bytes <= block_bytes ? kernel.blocks : 0, kDotWarps, kernel.table_bytes};
  }
  const uint64_t stage = CutStage(kDotPartRows, a);
  const uint64_t room = block_bytes - std::min<uint64_t>(block_bytes, kernel.table_bytes);
  if (room / stage < kFewestWarps) return {};
  const auto warps = static_cast<uint32_t>(std::min<uint64_t>(room / stage, kDotWarps));
  a->depth = static_cast<uint32_t>(std::min<uint64_t>(room / stage / warps, kDotDepth));
  return {kernel.blocks, warps, kernel.table_bytes + size_t{warps} * a->depth * stage};
}

// Blocks of four warps, as many as there is shared memory for.
Plan PlanMatrices(const TunedKernel& kernel, size_t block_bytes, ProductArgs* a) {
  const uint64_t stage = CutStage(kMatrixPartRows, a);
  const uint64_t besides = kernel.table_bytes + kMatrixMeetingBytes;
  Plan best;
  for (uint32_t depth = kMatrixDepth; depth > 0; --depth) {
    constexpr uint64_t kReserved = 1024;  // what the card takes of shared memory for each block
    const uint64_t bytes = besides + depth * stage;
    if (bytes > block_bytes) continue;
    const uint64_t blocks =
        std::min<uint64_t>((block_bytes + kReserved) / (bytes + kReserved), kernel.blocks);
    // Blocks hide more than stages do.
    if (blocks <= best.blocks) continue;
    best = {static_cast<uint32_t>(blocks), kMatrixThreads / 32, bytes};
    a->depth = depth;
  }
  return best;
}

Plan PlanOf(Tuned tuned, const TunedKernels& kernels, ProductArgs* args) {
  size_t block_bytes = 0;
  if (gpuBlockSharedBytes(&block_bytes) != gpuSuccess) return {};
  return tuned == Tuned::kDots ? PlanDots(kernels.dots, block_bytes, args)
                               : PlanMatrices(kernels.matrices, block_bytes, args);
}

size_t WideBytes(const TunedKernels& kernels, uint32_t warps, uint32_t pairs) {
  return kernels.dots.table_bytes + kernels.wide_table_bytes +
         WideSharedBytes(kernels.wide_slot_bytes, warps, pairs);
}

}  // namespace

gpuError_t PrepareTunedKernels() {
  size_t block_bytes = 0;
  gpuError_t error = gpuBlockSharedBytes(&block_bytes);
  for (const TunedKernels* kernels : kKernels) {
    if (error == gpuSuccess) error = kernels->dots.prepare(block_bytes);
    for (const TunedKernel* kernel : {&kernels->matrices, &kernels->wide}) {
      if (error == gpuSuccess && kernel->prepare != nullptr) error = kernel->prepare(block_bytes);
    }
  }
  return error;
}

Tuned TunedFor(const ProductArgs& args, bool many) {
  const TunedKernels* const kernels = Find(args.types[0]);
  if (kernels == nullptr) return Tuned::kNone;
  if (args.matrices == 2 &&
      (args.types[0] != args.types[1] || args.row_bytes[0] != args.row_bytes[1])) {
    return Tuned::kNone;
  }
  ProductArgs planned = args;
  if (many && kernels->matrices.launch != nullptr &&
      PlanOf(Tuned::kMatrices, *kernels, &planned).blocks > 0) {
    return Tuned::kMatrices;
  }
  return PlanOf(Tuned::kDots, *kernels, &planned).blocks > 0 ? Tuned::kDots : Tuned::kNone;
}

uint32_t WidePairs(const ProductArgs& args) {
  if (!kHasWide || TunedFor(args, false) != Tuned::kDots) return 0;
  const TunedKernels& kernels = *Find(args.types[0]);
  size_t block_bytes = 0;
  if (gpuBlockSharedBytes(&block_bytes) != gpuSuccess) return 0;
  ProductArgs planned = args;
  const Plan plan = PlanDots(kernels.dots, block_bytes, &planned);
  uint32_t pairs = kWideMostPairs;
  while (pairs >= kWideFewestPairs && WideBytes(kernels, plan.warps, pairs) > block_bytes) {
    pairs -= 16;
  }
  return pairs < kWideFewestPairs ? 0 : pairs;
}

gpuError_t LaunchTuned(Tuned tuned, ProductArgs args, uint32_t processors, gpuStream_t stream) {
  const TunedKernels& kernels = *Find(args.types[0]);
  Plan plan = PlanOf(tuned, kernels, &args);
  const TunedKernel* kernel = tuned == Tuned::kDots ? &kernels.dots : &kernels.matrices;
  if (args.wide_over != kNoneWide) {
    kernel = &kernels.wide;
    plan.shared_bytes =
        std::max(plan.shared_bytes, WideBytes(kernels, plan.warps, args.wide_pairs));
  }
  return kernel->launch(args, processors * plan.blocks, plan.warps * 32, plan.shared_bytes, stream);
}

}  // namespace berth::kernels::gpu
