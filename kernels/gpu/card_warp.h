// Where a thread of a kernel is, and what it does together with others: barriers, words between
// the 32 lanes of a warp, atomics, staging, launches that overlap. Lanes of a warp take part all
// together or not at all.
#ifndef BERTH_KERNELS_GPU_CARD_WARP_H_
#define BERTH_KERNELS_GPU_CARD_WARP_H_

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/card_code.h"
#include "kernels/gpu/vendor.h"

// A kernel of blocks of `threads` threads, `blocks` of them on a multiprocessor.
#if defined(__CUDACC__)
#define BERTH_KERNEL(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#elif defined(__HIPCC__)
// Eight waves on a SIMD by the compiler's count, twelve by that of the largest cards: 128
// registers. Left alone, it strives for more waves and spills.
#define BERTH_KERNEL(threads, blocks) \
  __global__ void __launch_bounds__(threads) __attribute__((amdgpu_waves_per_eu(8, 8)))
#endif
#if defined(__CUDACC__) || defined(__HIPCC__)
#define BERTH_GRID_CONSTANT __grid_constant__
#define BERTH_SHARED_MEMORY(name) extern __shared__ __align__(128) uint8_t name[]
#define BERTH_UNROLL _Pragma("unroll")
#define BERTH_NO_UNROLL _Pragma("unroll 1")
#else
#define BERTH_KERNEL(threads, blocks) void
#define BERTH_GRID_CONSTANT
#define BERTH_SHARED_MEMORY(name) uint8_t* const name = emulated::SharedMemory()
#define BERTH_UNROLL
#define BERTH_NO_UNROLL
#endif
#if defined(__HIPCC__)
#undef BERTH_GRID_CONSTANT
#define BERTH_GRID_CONSTANT
#endif

namespace berth::kernels::gpu {

inline constexpr uint32_t kWarp = 32;

#if defined(__CUDACC__) || defined(__HIPCC__)

BERTH_CARD_ONLY uint32_t ThreadIndex() { return threadIdx.x; }
BERTH_CARD_ONLY uint32_t BlockIndex() { return blockIdx.x; }
BERTH_CARD_ONLY uint32_t BlockThreads() { return blockDim.x; }
BERTH_CARD_ONLY uint32_t GridBlocks() { return gridDim.x; }

BERTH_CARD_ONLY void SyncBlock() { __syncthreads(); }
// What was written before, by this thread or by others before a barrier that it has passed, is seen
// by whoever sees what it writes after, all over the card; what is read after, also behind a
// barrier, is as new as what was read before.
BERTH_CARD_ONLY void Fence() {
#if defined(BERTH_ON_NVIDIA)
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
  __threadfence();
#endif
}
// The same where threads fence what is their own and another one then writes: an order of all
// fences, which takes longer.
BERTH_CARD_ONLY void FenceOfEach() { __threadfence(); }
BERTH_CARD_ONLY uint32_t AtomicAdd(uint32_t* at, uint32_t value) { return atomicAdd(at, value); }
BERTH_CARD_ONLY void AtomicAdd(uint64_t* at, uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}
BERTH_CARD_ONLY uint32_t AtomicSwapIf(uint32_t* at, uint32_t is, uint32_t value) {
  return atomicCAS(at, is, value);
}

#if defined(__HIPCC__)
// Lanes of a wave run in step; what must not happen is that the compiler moves accesses across.
BERTH_CARD_ONLY void SyncWarp() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
BERTH_CARD_ONLY uint32_t LaneXor(uint32_t value, uint32_t lanes) {
  return static_cast<uint32_t>(__shfl_xor(static_cast<int>(value), static_cast<int>(lanes), 32));
}
BERTH_CARD_ONLY uint32_t FromLane(uint32_t value, uint32_t lane) {
  return static_cast<uint32_t>(__shfl(static_cast<int>(value), static_cast<int>(lane), 32));
}
BERTH_CARD_ONLY uint32_t Ballot(bool vote) { return static_cast<uint32_t>(__ballot(vote)); }
// What another block or launch may have written while this one runs: not from a cache of this
// block's own.
template <typename T>
BERTH_CARD_ONLY T LoadShared(const T* at) {
  return __builtin_nontemporal_load(at);
}
// What another block changes meanwhile, again and again, with a little rest in between.
BERTH_CARD_ONLY uint32_t Poll(const uint32_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
// For who polls.
BERTH_CARD_ONLY void Publish(uint32_t* at, uint32_t value) {
  __atomic_store_n(at, value, __ATOMIC_RELAXED);
}
BERTH_CARD_ONLY void Pause() { __builtin_amdgcn_s_sleep(2); }
#else
BERTH_CARD_ONLY void SyncWarp() { __syncwarp(); }
BERTH_CARD_ONLY uint32_t LaneXor(uint32_t value, uint32_t lanes) {
  return __shfl_xor_sync(0xffffffffu, value, lanes);
}
BERTH_CARD_ONLY uint32_t FromLane(uint32_t value, uint32_t lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
BERTH_CARD_ONLY uint32_t Ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
// What another block or launch may have written while this one runs: not from a cache of this
// block's own.
template <typename T>
BERTH_CARD_ONLY T LoadShared(const T* at) {
  return __ldcg(at);
}
// What another block changes meanwhile, again and again, with a little rest in between.
BERTH_CARD_ONLY uint32_t Poll(const uint32_t* at) {
  uint32_t value = 0;
#if defined(BERTH_ON_NVIDIA)
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
#endif
  return value;
}
// For who polls.
BERTH_CARD_ONLY void Publish([[maybe_unused]] uint32_t* at, [[maybe_unused]] uint32_t value) {
#if defined(BERTH_ON_NVIDIA)
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
#endif
}
BERTH_CARD_ONLY void Pause() {
#if defined(BERTH_ON_NVIDIA)
  asm volatile("nanosleep.u32 32;" ::: "memory");
#endif
}
#endif

#else  // the emulated card

inline uint32_t ThreadIndex() { return emulated::ThreadIndex(); }
inline uint32_t BlockIndex() { return emulated::BlockIndex(); }
inline uint32_t BlockThreads() { return emulated::BlockThreads(); }
inline uint32_t GridBlocks() { return emulated::GridBlocks(); }

inline void SyncBlock() { emulated::SyncBlock(); }
inline void SyncWarp() { emulated::Exchange(0); }
inline void Fence() {}
inline void FenceOfEach() {}
inline uint32_t AtomicAdd(uint32_t* at, uint32_t value) {
  const uint32_t before = *at;
  *at += value;
  return before;
}
inline void AtomicAdd(uint64_t* at, uint64_t value) { *at += value; }
inline uint32_t AtomicSwapIf(uint32_t* at, uint32_t is, uint32_t value) {
  const uint32_t before = *at;
  if (before == is) *at = value;
  return before;
}
inline uint32_t LaneXor(uint32_t value, uint32_t lanes) {
  return static_cast<uint32_t>(emulated::Exchange(value)[ThreadIndex() % kWarp ^ lanes]);
}
inline uint32_t FromLane(uint32_t value, uint32_t lane) {
  return static_cast<uint32_t>(emulated::Exchange(value)[lane % kWarp]);
}
inline uint32_t Ballot(bool vote) {
  const uint64_t* const votes = emulated::Exchange(vote ? 1 : 0);
  uint32_t ballot = 0;
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    ballot |= static_cast<uint32_t>(votes[lane]) << lane;
  return ballot;
}
template <typename T>
T LoadShared(const T* at) {
  return *at;
}
inline uint32_t Poll(const uint32_t* at) { return *at; }
inline void Publish(uint32_t* at, uint32_t value) { *at = value; }
inline void Pause() {}

#endif

BERTH_CARD_ONLY bool IsWhole16(const float* at) {
  return (reinterpret_cast<uintptr_t>(at) & 15) == 0;
}
// Four in a row, at a multiple of 16.
BERTH_CARD_ONLY void LoadSharedFour(const float* at, float (&to)[4]) {
#if defined(BERTH_ON_NVIDIA)
  const float4 from = __ldcg(reinterpret_cast<const float4*>(at));
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  to[3] = from.w;
#else
  for (int i = 0; i < 4; ++i) to[i] = LoadShared(at + i);
#endif
}

BERTH_CARD_ONLY void StoreFour(float* at, float a, float b, float c, float d) {
#if defined(BERTH_ON_NVIDIA)
  *reinterpret_cast<float4*>(at) = make_float4(a, b, c, d);
#else
  const float values[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) at[i] = values[i];
#endif
}

BERTH_CARD_ONLY uint32_t Lane() { return ThreadIndex() % kWarp; }
// The same word, which compilers know nothing about: it stays in a register. By whole warps.
BERTH_CARD_ONLY uint32_t KeptWord(uint32_t word) { return LaneXor(word, 0); }
// The same word; what is made of it is not made before.
BERTH_CARD_ONLY uint32_t MadeHere(uint32_t word) {
#if defined(BERTH_ON_NVIDIA)
  asm volatile("" : "+r"(word));
#endif
  return word;
}
// Of all lanes.
BERTH_CARD_ONLY uint32_t SumOfLanes(uint32_t value) {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffu, value);
#else
  BERTH_UNROLL
  for (uint32_t lanes = kWarp / 2; lanes > 0; lanes /= 2) value += LaneXor(value, lanes);
  return value;
#endif
}
BERTH_CARD_ONLY float LaneXor(float value, uint32_t lanes) {
  return FloatOf(LaneXor(BitsOf(value), lanes));
}
BERTH_CARD_ONLY float FromLane(float value, uint32_t lane) {
  return FloatOf(FromLane(BitsOf(value), lane));
}
BERTH_CARD_ONLY uint64_t FromLane(uint64_t value, uint32_t lane) {
  const uint32_t low = FromLane(static_cast<uint32_t>(value), lane);
  return low | static_cast<uint64_t>(FromLane(static_cast<uint32_t>(value >> 32), lane)) << 32;
}

// With launches that overlap (gpuLaunch's `overlap`): the next launch may start now; and the launch
// before this one has ended and what it wrote is here. Without, both do nothing. Every kernel waits
// first, so that where one starts, the launch before the one before it has ended, too.
BERTH_CARD_ONLY void NextLaunchMayStart() {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
BERTH_CARD_ONLY void WaitForLastLaunch() {
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

BERTH_CARD_ONLY void WaitAndGoOn() {
  WaitForLastLaunch();
  NextLaunchMayStart();
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CARD_WARP_H_
