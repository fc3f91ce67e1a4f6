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

constexpr uint64_t kReserved = 1024;  // what the card takes of shared memory for each block
// Columns of a stage are a multiple of this, so that blocks of weights lie in all stages alike.
constexpr uint32_t kColumnStep = 512;
constexpr uint32_t kShortRow = 1024;  // columns
constexpr uint32_t kMostPasses = 4;
constexpr uint32_t kManyPairs = 4;  // of a unit on average: then many are wide

// Which of a format's kernels with dots runs these.
const TunedKernel& DotsOf(const TunedKernels& kernels, const ProductArgs& a) {
  if (a.wide_over == kNoneWide) return kernels.dots;
  const bool many = uint64_t{a.x_rows} * a.top_k >= uint64_t{kManyPairs} * a.experts;
  return many ? kernels.wide : kernels.rarely_wide;
}

const TunedKernels* Find(TensorType type) {
  for (const TunedKernels* kernels : kKernels) {
    if (kernels->type == type) return kernels;
  }
  return nullptr;
}

// Of a row in a stage that holds stretches of rows: an odd number of pieces of 16 bytes, so that
// the loads of eight lanes meet different banks; up to 15 bytes in front.
uint64_t SlotBytes(uint64_t bytes) { return ((bytes + 30) / 16 | 1) * 16; }

// Of half a stage of four rows as they lie, with up to 15 bytes in front and behind. 0: rows that
// would meet in a few banks: of whole 64 bytes. Others do not, if the second half lies in the banks
// that the first one leaves.
uint64_t PartBytes(uint64_t row_bytes) {
  if (row_bytes % 64 == 0) return 0;
  uint64_t bytes = AlignUp(4 * row_bytes + 30, 16);
  while (bytes % 128 != (row_bytes % 32 == 0 ? 16 : 64)) bytes += 16;
  return bytes;
}

}  // namespace

const TunedKernels* FindTuned(const ProductArgs& args) {
  const TunedKernels* const kernels = Find(args.types[0]);
  const bool alike = args.matrices == 1 ||
                     (args.types[0] == args.types[1] && args.row_bytes[0] == args.row_bytes[1]);
  // Kernels count a matrix's bytes in 32 bits.
  const bool small = args.row_bytes[0] * (uint64_t{args.rows} + 32) <= UINT32_MAX;
  return alike && small ? kernels : nullptr;
}

uint32_t RowStep(const ProductArgs& args) { return !kDirect && args.row_bytes[0] % 4 == 2 ? 2 : 1; }

bool CutStages(const TunedKernels& kernels, uint64_t room, ProductArgs* a) {
  const uint64_t row_bytes = a->row_bytes[0];
  const auto whole = static_cast<uint32_t>(AlignUp(a->cols, kColumnStep));
  a->part_bytes = a->row_stride = 0;
  const uint64_t part = PartBytes(row_bytes);
  if (a->row_step == 1 && part != 0 && 2 * part <= room) {
    a->chunk_cols = whole;
    a->part_bytes = static_cast<uint32_t>(part);
    a->depth = static_cast<uint32_t>(std::min<uint64_t>(room / (2 * part), kDotDepth));
    return true;
  }
  const auto cut = [&](uint32_t cols) {
    const uint64_t bytes = uint64_t{std::min(cols, a->cols)} / kernels.elements * kernels.bytes;
    const uint64_t slot = SlotBytes(bytes);
    a->chunk_cols = cols;
    a->row_stride = static_cast<uint32_t>(slot);
    a->depth = static_cast<uint32_t>(std::min<uint64_t>(room / (8 * slot), kDotDepth));
    return a->depth;
  };
  // Two stages at least, so that one is filled while the other is read; or one of whole rows.
  for (uint32_t cols = whole; cols > 0; cols -= kColumnStep) {
    if (cut(cols) > 1) return true;
  }
  return cut(whole) > 0 || cut(kColumnStep) > 0;
}

namespace {

// A block of so many warps.
bool PlanBlock(const TunedKernels& kernels, uint64_t table_bytes, uint32_t warps, uint64_t room,
               ProductArgs* a) {
  const uint64_t fixed = table_bytes + DotFixedBytes(warps);
  if (fixed > room) return false;
  a->warps = warps;
  a->local_rows = a->depth = a->chunk_cols = 0;
  a->shared_bytes = static_cast<uint32_t>(fixed);
  if (kDirect) return true;
  // Inputs of the pairs that are taken at a time; where rows are long, of fewer.
  const uint64_t local = LocalRowBytes(a->cols, kernels.halves);
  uint32_t rows = kDotPairs;
  while (rows > 1 && rows * local > (room - fixed) / 2) rows /= 2;
  uint64_t left = 0;
  const auto cut = [&] {
    if (fixed + rows * local > room) return false;
    left = room - fixed - rows * local;
    return CutStages(kernels, left / warps, a);
  };
  if (!cut()) return false;
  // Where units have few pairs: rather whole rows in a stage than inputs of many.
  if (&DotsOf(kernels, *a) != &kernels.wide && rows == kDotPairs && a->part_bytes == 0) {
    rows /= 2;
    if (!cut() || a->part_bytes == 0) {
      rows = kDotPairs;
      cut();
    }
  }
  left -= uint64_t{warps} * a->depth * StageBytes(*a);
  const uint64_t more = std::min<uint64_t>(left / local, kMostLocalRows - rows);
  a->local_rows = rows + static_cast<uint32_t>(more);
  a->shared_bytes = static_cast<uint32_t>(room - left + more * local);
  return true;
}

// Dots in a block that has `room` of shared memory.
bool PlanDots(const TunedKernels& kernels, uint64_t room, uint32_t processors, ProductArgs* a) {
  const TunedKernel& kernel = DotsOf(kernels, *a);
  a->row_step = RowStep(*a);
  a->blocks = kernel.blocks;
  a->passes = 1;
  if (kDirect && a->cols <= kShortRow) {
    // Short rows several times eight at once, if there are enough of them for all warps.
    const uint64_t outputs = kDotPartRows * (a->matrices == 2 ? 1 : 2);
    const uint64_t turns = uint64_t{a->most_units} * CeilDiv(uint64_t{a->rows}, outputs);
    const uint64_t all_warps = uint64_t{processors} * kernel.blocks * kDotWarps;
    a->passes = kMostPasses;
    while (a->passes > 1 && turns / a->passes < 2 * all_warps) a->passes /= 2;
  }
  for (uint32_t warps = kDotWarps; warps >= kFewestDotWarps; warps /= 2) {
    if (PlanBlock(kernels, kernel.table_bytes, warps, room, a)) return true;
  }
  return false;
}

// Blocks of four warps, as many as there is shared memory for.
bool PlanMatrices(const TunedKernels& kernels, uint64_t block_bytes, ProductArgs* a) {
  const TunedKernel& kernel = kernels.matrices;
  if (kernel.launch == nullptr) return false;
  const uint64_t row_bytes = a->row_bytes[0];
  a->row_step = row_bytes % 4 == 2 ? 2 : 1;
  // Rows of whole 16 bytes: an odd number of these apart, so that the 16-byte loads of eight lanes
  // meet eight different quarters of the banks. Other rows lie as they come.
  const bool by_row = row_bytes % 16 == 0;
  const uint64_t stride = by_row ? row_bytes + (row_bytes / 16 % 2 == 0 ? 16 : 0) : row_bytes;
  const uint64_t part = AlignUp(kMatrixPartRows * a->row_step * stride + (by_row ? 16 : 15), 16);
  a->row_stride = by_row ? static_cast<uint32_t>(stride) : 0;
  a->part_bytes = static_cast<uint32_t>(part);
  const uint64_t stage = 2 * part + sizeof(uint64_t);
  const uint64_t besides = kernel.table_bytes + kMatrixMeetingBytes;
  a->blocks = 0;
  a->warps = kMatrixThreads / 32;
  for (uint32_t depth = kMatrixDepth; depth > 0; --depth) {
    const uint64_t bytes = besides + depth * stage;
    if (bytes > block_bytes) continue;
    const uint64_t blocks =
        std::min<uint64_t>((block_bytes + kReserved) / (bytes + kReserved), kernel.blocks);
    // Blocks hide more than stages do.
    if (blocks <= a->blocks) continue;
    a->blocks = static_cast<uint32_t>(blocks);
    a->depth = depth;
    a->shared_bytes = static_cast<uint32_t>(bytes);
  }
  return a->blocks > 0;
}

uint64_t WideBytes(const TunedKernels& kernels, const ProductArgs& a, uint32_t pairs) {
  const TunedKernel& kernel = DotsOf(kernels, a);
  return DotFixedBytes(a.warps) + kernel.table_bytes + kernel.wide_table_bytes +
         WideSharedBytes(kernels.wide_slot_bytes, a.warps, pairs);
}

}  // namespace

gpuError_t PrepareTunedKernels() {
  size_t block_bytes = 0;
  gpuError_t error = gpuBlockSharedBytes(&block_bytes);
  for (const TunedKernels* kernels : kKernels) {
    if (error == gpuSuccess) error = kernels->dots.prepare(block_bytes);
    for (const TunedKernel* kernel : {&kernels->matrices, &kernels->wide, &kernels->rarely_wide}) {
      if (error == gpuSuccess && kernel->prepare != nullptr) error = kernel->prepare(block_bytes);
    }
  }
  return error;
}

Tuned PlanTuned(bool many, uint32_t processors, ProductArgs* args) {
  const TunedKernels* const kernels = FindTuned(*args);
  size_t block_bytes = 0;
  if (kernels == nullptr || gpuBlockSharedBytes(&block_bytes) != gpuSuccess) return Tuned::kNone;
  if (many && PlanMatrices(*kernels, block_bytes, args)) return Tuned::kMatrices;
  if (!PlanDots(*kernels, block_bytes, processors, args)) return Tuned::kNone;
  if (args->wide_over != kNoneWide) {
    const uint64_t wide = WideBytes(*kernels, *args, args->wide_pairs);
    args->shared_bytes = std::max(args->shared_bytes, static_cast<uint32_t>(wide));
  }
  return Tuned::kDots;
}

uint32_t WidePairs(const ProductArgs& args) {
  size_t block_bytes = 0;
  if (!kHasWide || gpuBlockSharedBytes(&block_bytes) != gpuSuccess) return 0;
  ProductArgs planned = args;
  planned.wide_over = 0;
  planned.wide_pairs = kWideFewestPairs;
  if (PlanTuned(false, 1, &planned) != Tuned::kDots) return 0;
  const TunedKernels& kernels = *Find(args.types[0]);
  uint32_t pairs = kWideMostPairs;
  while (pairs >= kWideFewestPairs && WideBytes(kernels, planned, pairs) > block_bytes) {
    pairs -= 16;
  }
  return pairs < kWideFewestPairs ? 0 : pairs;
}

gpuError_t LaunchTuned(Tuned tuned, const ProductArgs& args, uint32_t processors,
                       gpuStream_t stream) {
  const TunedKernels& kernels = *Find(args.types[0]);
  const TunedKernel& kernel = tuned == Tuned::kMatrices ? kernels.matrices : DotsOf(kernels, args);
  return kernel.launch(args, processors * args.blocks, args.warps * 32, args.shared_bytes, stream);
}

}  // namespace berth::kernels::gpu
