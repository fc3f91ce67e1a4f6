// The emulated card: kernels run on the host, bit by bit as they would on a card, for tests without
// one. A block's threads are fibers of the thread that launches; they take turns where they wait
// for each other. Blocks run one after the other, so nothing may wait for another block.
//
// Memory is the host's, a launch has ended when it returns, and AddressSanitizer sees every access.
// Shared memory is poisoned with 0xA5 before every block. A block whose threads all wait for
// somebody who does not come is a failed check, not a hang.
#ifndef BERTH_KERNELS_GPU_VENDOR_EMULATED_H_
#define BERTH_KERNELS_GPU_VENDOR_EMULATED_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/gpu/vendor_emulated_runtime.h"

namespace berth::kernels::gpu {
namespace emulated {

// Of the thread that is running.
uint32_t ThreadIndex();
uint32_t BlockIndex();
uint32_t BlockThreads();
uint32_t GridBlocks();
uint8_t* SharedMemory();

void SyncBlock();
// Gives a value to the warp and returns what its 32 lanes gave, valid until the next exchange.
const uint64_t* Exchange(uint64_t value);

// Threads: a multiple of 32. From any number of threads, one launch at a time.
void RunGrid(uint32_t blocks, uint32_t threads, size_t shared_bytes,
             const std::function<void()>& kernel);

}  // namespace emulated

// `overlap`: see WaitForLastLaunch.
template <typename... P, typename... A>
gpuError_t gpuLaunch(void (*kernel)(P...), uint32_t blocks, uint32_t threads, size_t shared_bytes,
                     gpuStream_t, bool /*overlap*/, const A&... args) {
  emulated::RunGrid(blocks, threads, shared_bytes, [&] { kernel(args...); });
  return gpuSuccess;
}
// Once per kernel and card, before its first launch with as much shared memory.
template <typename... P>
gpuError_t gpuPrepareKernel(void (*)(P...), size_t /*shared_bytes*/) {
  return gpuSuccess;
}
// Shared memory that a block may have.
inline gpuError_t gpuBlockSharedBytes(size_t* bytes) {
  *bytes = 200 << 10;
  return gpuSuccess;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_VENDOR_EMULATED_H_
