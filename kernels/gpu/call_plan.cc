#include "kernels/gpu/call_plan.h"

#include <algorithm>

#include "runtime/base/math.h"

namespace berth::kernels::gpu {

// Pairs of types that models have: files of few bits keep down, whose rows are no multiple of 256
// columns, in a type of blocks of 32. Not Q8_0, whose bytes take longest: by launches it is faster.
#define BERTH_FOR_EACH_CALL(X) \
  X(Iq3_S_Iq4_Nl)              \
  X(Iq3_Xxs_Iq4_Nl)            \
  X(Iq2_S_Q2_0)                \
  X(Iq4_Xs_Iq4_Nl)             \
  X(Q4_K_Q4_0)                 \
  X(Mxfp4_Mxfp4)
#define BERTH_CALL_OF(name) extern CallKernelOf name##Call;
BERTH_FOR_EACH_CALL(BERTH_CALL_OF)
#undef BERTH_CALL_OF

namespace {

const CallKernelOf* const kKernels[] = {
#define BERTH_CALL_OF(name) &name##Call,
    BERTH_FOR_EACH_CALL(BERTH_CALL_OF)
#undef BERTH_CALL_OF
};

const CallKernelOf* FindFor(const CallArgs& args) {
  for (const CallKernelOf* kernel : kKernels) {
    if (kernel->gate_up == args.gate_up.types[0] && kernel->down == args.down.types[0]) {
      return kernel;
    }
  }
  return nullptr;
}

// Blocks of so many warps: inputs for all that are taken at a time, if half of the room will do,
// and the rest for stages.
bool PlanBlock(const CallKernelOf& kernel, const TunedKernels& gate_up, const TunedKernels& down,
               uint32_t warps, uint64_t room, CallArgs* args) {
  const uint64_t fixed = CallFixedBytes(warps) + kernel.table_bytes;
  if (fixed >= room) return false;
  const uint64_t of_gate_up = LocalRowBytes(args->gate_up.cols, gate_up.halves);
  const uint64_t of_down = LocalRowBytes(args->down.cols, down.halves);
  const uint64_t one = std::max(of_gate_up, of_down);
  // The list's counts lie where inputs do later.
  const uint64_t least = AlignUp(uint64_t{args->prepare.experts} * 4, 16);
  uint64_t inputs = 0;
  const auto cut = [&](uint32_t rows) {
    inputs = std::max(rows * one, least);
    if (fixed + inputs > room) return false;
    const uint64_t of_warp = (room - fixed - inputs) / warps;
    return CutStages(gate_up, of_warp, &args->gate_up) && CutStages(down, of_warp, &args->down);
  };
  uint32_t rows = kDotPairs;
  while (rows > 1 && rows * one > (room - fixed) / 2) rows /= 2;
  if (!cut(rows)) return false;
  // Rather whole rows in a stage than inputs of many.
  if (rows == kDotPairs && args->gate_up.part_bytes == 0) {
    if (!cut(rows / 2) || args->gate_up.part_bytes == 0) cut(rows);
  }
  const auto stages = [](const ProductArgs& a) { return a.depth * StageBytes(a); };
  args->stage_bytes = std::max(stages(args->gate_up), stages(args->down));
  inputs = AlignDown(room - fixed - uint64_t{warps} * args->stage_bytes, 16);
  args->input_bytes =
      static_cast<uint32_t>(std::min(inputs, std::max(kMostLocalRows * one, least)));
  const auto local = [&](uint64_t bytes) {
    return static_cast<uint32_t>(std::min<uint64_t>(args->input_bytes / bytes, kMostLocalRows));
  };
  args->gate_up.local_rows = local(of_gate_up);
  args->down.local_rows = local(of_down);
  args->warps = warps;
  args->shared_bytes =
      static_cast<uint32_t>(fixed + args->input_bytes + uint64_t{warps} * args->stage_bytes);
  return true;
}

}  // namespace

gpuError_t PrepareCallKernels() {
  size_t block_bytes = 0;
  gpuError_t error = gpuBlockSharedBytes(&block_bytes);
  for (const CallKernelOf* kernel : kKernels) {
    if (error == gpuSuccess && kernel->prepare != nullptr) error = kernel->prepare(block_bytes);
  }
  return error;
}

bool PlanCall(uint32_t processors, CallArgs* args) {
  const CallKernelOf* const kernel = FindFor(*args);
  const TunedKernels* const gate_up = FindTuned(args->gate_up);
  const TunedKernels* const down = FindTuned(args->down);
  size_t block_bytes = 0;
  if (kernel == nullptr || kernel->launch == nullptr || gate_up == nullptr || down == nullptr ||
      processors > kMostCallShares || args->prepare.pair_count > kMostCallPairs ||
      gpuBlockSharedBytes(&block_bytes) != gpuSuccess) {
    return false;
  }
  args->gate_up.row_step = RowStep(args->gate_up);
  args->down.row_step = RowStep(args->down);
  for (uint32_t warps = kDotWarps; warps >= kFewestDotWarps; warps /= 2) {
    if (PlanBlock(*kernel, *gate_up, *down, warps, block_bytes, args)) return true;
  }
  return false;
}

gpuError_t LaunchCall(const CallArgs& args, uint32_t processors, gpuStream_t stream) {
  return FindFor(args)->launch(args, processors, args.shared_bytes, stream);
}

}  // namespace berth::kernels::gpu
