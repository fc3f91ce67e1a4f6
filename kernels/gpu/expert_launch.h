// A grouped expert call as launches on a card: what the backend (gpu_stream.h) asks of the kernels.
// All pointers are addresses that the card reads and writes, in its memory or in mapped host
// memory.
//
// At most three launches: prepare (find the units, put rows into 8 bits), products of gate and up
// with the activation, products of down with the weighted sum. Or all in one, for calls of few rows
// of some types with ids, a sum and no choice of kernel (call_kernel.h). Every kernel has been
// loaded by LoadExpertKernels before the first of them runs.
#ifndef BERTH_KERNELS_GPU_EXPERT_LAUNCH_H_
#define BERTH_KERNELS_GPU_EXPERT_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/status.h"
#include "kernels/expert/arithmetic.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/gpu/vendor.h"
#include "kernels/kernel_choice.h"

namespace berth::kernels::gpu {

// A layer as the card sees it. The siblings lie in card memory, uploaded once.
struct CardSiblings {
  const float* bias = nullptr;   // [experts][rows]; null: none
  const float* scale = nullptr;  // [experts]; null: none
};
struct CardLayer {
  const ExpertSpec* spec = nullptr;  // host memory: shapes, types and conventions
  CardSiblings gate, up, down;
};

struct CardCall {
  CardLayer layer;
  uint32_t rows = 0;
  uint32_t top_k = 0;
  const float* x = nullptr;  // [rows][hidden]
  // Router weights [rows][top_k]; read for weights_before and for the weighted sum.
  const float* weights = nullptr;

  // Which units run. A wave, decided by the host:
  const WaveUnit* units = nullptr;  // [unit_count], readable by the card; shifts are honoured
  uint32_t unit_count = 0;
  const uint32_t* pairs = nullptr;
  // Or, with units null, whatever the router says: ids [rows][top_k] (kNoExpert: nobody), expert e
  // being unit first_unit + e of the pointer table.
  const int32_t* ids = nullptr;
  UnitIndex first_unit = 0;

  const std::byte* const* table = nullptr;  // the pointer table, units of the model
  float* partials = nullptr;                // [rows * top_k][hidden]
  // The weighted sum [rows][hidden], k ascending; null: none, the partials are all that is wanted.
  // Only with ids: a wave may hold part of a row's experts.
  float* y = nullptr;
  // Set to 1 + the unit where one that is to run has no address (the lowest such), or to
  // kCardGaveUp (expert_args.h); never cleared.
  // Nothing of a call with such a unit is promised then, but nothing outside is written.
  uint32_t* failed_unit = nullptr;
  // What ExpertKernels does not offer for the call is kAuto: what Dispatch says.
  KernelChoice kernel;
};

// Card memory that calls up to these sizes need between their launches. One per stream.
struct ExpertSizes {
  uint32_t max_hidden = 0;
  uint32_t max_ffn = 0;
  uint32_t max_rows = 0;   // rows of x
  uint32_t max_pairs = 0;  // rows * top_k
  uint32_t max_units = 0;  // distinct units of a call
};
uint64_t ExpertWorkspaceBytes(const ExpertSizes& sizes);

// What to run for a type and a number of rows where the call does not say. The default is a choice
// that is right everywhere and good on the cards that were measured.
struct Dispatch {
  bool tuned = true;  // false: the plain kernel for every type
  // Pairs of an expert on average from which on matrix instructions are used.
  uint32_t matrix_pairs = 4;
  // Pairs that a unit of many takes at a time, a multiple of 16, at most; no bit depends on it.
  uint32_t wide_pairs = 112;
};

struct ExpertLauncher {
  ExpertSizes sizes;
  std::byte* workspace = nullptr;  // ExpertWorkspaceBytes(sizes) of card memory, zeroed once
  Arithmetic arithmetic;
  Dispatch dispatch;
  uint32_t processors = 0;  // multiprocessors of the card
};

// Loads and sets up every kernel on the current card.
Status LoadExpertKernels();
// Kernels of equal bits for calls of so many rows; first what a call gets that asks for none. Of
// the launcher neither sizes nor workspace count.
std::vector<KernelChoice> ExpertKernels(const ExpertLauncher& launcher, const ExpertSpec& spec,
                                        uint32_t rows, uint32_t top_k);
// Enqueues the call; InvalidArgument beyond the launcher's sizes. `ran`, where given: the launches
// of its products are added.
Status LaunchExperts(const ExpertLauncher& launcher, const CardCall& call, gpuStream_t stream,
                     KernelLaunches* ran = nullptr);
// y[row] = sum over k of weights * partials, as ReduceCall says; pointers are the card's.
Status LaunchReduce(const ReduceCall& call, gpuStream_t stream);
// Bytes of a slot that differ from `expected` are counted; both readable by the card.
Status LaunchAudit(const std::byte* slot, const std::byte* expected, size_t bytes, uint64_t* differ,
                   gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_EXPERT_LAUNCH_H_
