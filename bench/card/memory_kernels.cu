#include "bench/card/memory_kernels.h"
#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/gpu_status.h"

namespace berth::bench {

// In the kernels' namespace for their vocabulary of threads and launches.
using namespace kernels::gpu;  // NOLINT

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kLoads = 8;  // of 16 bytes, in flight in every thread
// Few enough that a thread has registers for its loads; the grid is twice as large, so that the
// last pieces come out even.
constexpr uint32_t kBlocksPerProcessor = 4;
constexpr const char* kWhere = "memory kernels";

struct alignas(16) Words {
  uint32_t w[4];
};

// In pieces of a unit that a block reads at once.
BERTH_KERNEL(kThreads, kBlocksPerProcessor)
ReadUnits(const std::byte* const* units, uint32_t pieces, uint32_t total, uint32_t words,
          uint32_t* sink) {
  uint32_t mixed = 0;
  for (uint32_t piece = BlockIndex(); piece < total; piece += GridBlocks()) {
    const auto* const unit = reinterpret_cast<const Words*>(units[piece / pieces]);
    const uint32_t first = piece % pieces * kThreads * kLoads + ThreadIndex();
    Words loaded[kLoads];
    BERTH_UNROLL
    for (uint32_t i = 0; i < kLoads; ++i) {
      const uint32_t at = first + i * kThreads;
      loaded[i] = unit[at < words ? at : words - 1];
    }
    BERTH_UNROLL
    for (uint32_t i = 0; i < kLoads; ++i) {
      mixed ^= loaded[i].w[0] ^ loaded[i].w[1] ^ loaded[i].w[2] ^ loaded[i].w[3];
    }
  }
  // No sum of random words is counted on to be this one, and it harms nobody if one is.
  if (mixed == 0x12345678) *sink = mixed;
}

BERTH_KERNEL(kThreads, kBlocksPerProcessor)
SpreadUnits(const Words* stock, uint64_t stock_words, Words* to, uint64_t total) {
  const uint64_t step = static_cast<uint64_t>(GridBlocks()) * kThreads;
  for (uint64_t at = static_cast<uint64_t>(BlockIndex()) * kThreads + ThreadIndex(); at < total;
       at += step) {
    to[at] = stock[at % stock_words];
  }
}

uint32_t Blocks(uint64_t wanted, uint32_t processors) {
  const uint64_t most = uint64_t{2} * processors * kBlocksPerProcessor;
  return static_cast<uint32_t>(wanted < most ? wanted : most);
}

}  // namespace

Status LoadMemoryKernels() {
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuPrepareKernel(ReadUnits, 0), kWhere, "FuncSetAttribute"));
  return GpuStatus(gpuPrepareKernel(SpreadUnits, 0), kWhere, "FuncSetAttribute");
}

Status LaunchReadUnits(const std::byte* const* units, uint32_t count, uint64_t bytes,
                       uint32_t processors, uint32_t* sink, gpuStream_t stream) {
  const auto words = static_cast<uint32_t>(bytes / sizeof(Words));
  const uint32_t pieces = (words + kThreads * kLoads - 1) / (kThreads * kLoads);
  return GpuStatus(gpuLaunch(ReadUnits, Blocks(uint64_t{pieces} * count, processors), kThreads, 0,
                             stream, false, units, pieces, pieces * count, words, sink),
                   kWhere, "LaunchKernel");
}

Status LaunchSpreadUnits(const std::byte* stock, uint32_t stock_count, std::byte* to,
                         uint32_t count, uint64_t bytes, uint32_t processors, gpuStream_t stream) {
  const uint64_t words = bytes / sizeof(Words);
  return GpuStatus(gpuLaunch(SpreadUnits, Blocks(words * count / kThreads + 1, processors),
                             kThreads, 0, stream, false, reinterpret_cast<const Words*>(stock),
                             words * stock_count, reinterpret_cast<Words*>(to), words * count),
                   kWhere, "LaunchKernel");
}

}  // namespace berth::bench
