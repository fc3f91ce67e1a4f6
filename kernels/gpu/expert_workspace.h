// Card memory of a grouped call between its launches.
#ifndef BERTH_KERNELS_GPU_EXPERT_WORKSPACE_H_
#define BERTH_KERNELS_GPU_EXPERT_WORKSPACE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/expert_launch.h"

namespace berth::kernels::gpu {

// Counters come first: they are zero between calls, whatever sizes these have.
struct ExpertWorkspace {
  uint32_t* h_arrived = nullptr;   // [max_units][blocks of 32 of max_ffn]
  uint32_t* turns = nullptr;       // [2]
  uint32_t* call_turns = nullptr;  // [3]
  uint32_t* call_flags = nullptr;  // [kMostCallShares]
  WorkList list;
  ByteRows x_bytes;    // [max_rows]
  ByteRows h_bytes;    // [max_pairs]
  WideRows x_wide;     // [max_rows]
  WideRows h_wide;     // [max_pairs]
  float* h = nullptr;  // [max_pairs][max_ffn]
  uint64_t bytes = 0;

  // `base` is 256-aligned; null: for the size.
  ExpertWorkspace(const ExpertSizes& sizes, std::byte* base);
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_EXPERT_WORKSPACE_H_
