// Kernels that only move bytes: the yardstick of kernels that also compute.
#ifndef BERTH_BENCH_CARD_MEMORY_KERNELS_H_
#define BERTH_BENCH_CARD_MEMORY_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "berth/status.h"
#include "kernels/gpu/vendor.h"

namespace berth::bench {

// Before the first launch, in particular before one that is captured.
Status LoadMemoryKernels();

// Reads `bytes` (a multiple of 16) from each of `count` addresses, which lie in card memory as the
// list does, and keeps nothing. `sink`: a word that is never written, as the compiler cannot know.
Status LaunchReadUnits(const std::byte* const* units, uint32_t count, uint64_t bytes,
                       uint32_t processors, uint32_t* sink, gpuStream_t stream);

// Unit i of `to` becomes a copy of unit i % stock_count of `stock`; units lie `bytes` apart.
Status LaunchSpreadUnits(const std::byte* stock, uint32_t stock_count, std::byte* to,
                         uint32_t count, uint64_t bytes, uint32_t processors, gpuStream_t stream);

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_MEMORY_KERNELS_H_
