// Names that code for a card is written with, whatever compiles it: nvcc, hipcc, or an ordinary
// compiler for the emulated card and for tests. Instructions with no portable spelling have one
// here, each with a plain C++ twin that gives the same bits. What needs other threads: card_warp.h.
#ifndef BERTH_KERNELS_GPU_CARD_CODE_H_
#define BERTH_KERNELS_GPU_CARD_CODE_H_

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define BERTH_CARD __host__ __device__ __forceinline__
#define BERTH_CARD_ONLY __device__ __forceinline__
#define BERTH_CARD_APART __device__ __noinline__
#elif defined(__HIPCC__)
#define BERTH_CARD __host__ __device__ inline __attribute__((always_inline))
#define BERTH_CARD_ONLY __device__ inline __attribute__((always_inline))
#define BERTH_CARD_APART __device__ __attribute__((noinline))
#else
#define BERTH_CARD inline
#define BERTH_CARD_ONLY inline
#define BERTH_CARD_APART inline
#endif

#if defined(__CUDA_ARCH__)
#define BERTH_ON_NVIDIA 1  // device code for an NVIDIA card is being compiled
#elif defined(__HIP_DEVICE_COMPILE__)
#define BERTH_ON_RADEON 1  // device code for a Radeon is being compiled
// Its dot product of four bytes: v_dot4_i32_iu8 or v_dot4_i32_i8. gfx1010 and gfx1013 have neither.
#if defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || \
    defined(__gfx1103__) || defined(__gfx1150__) || defined(__gfx1151__) || \
    defined(__gfx1152__) || defined(__gfx1153__) || defined(__gfx1200__) || defined(__gfx1201__)
#define BERTH_RADEON_SUDOT4 1
#elif !defined(__gfx1010__) && !defined(__gfx1013__)
#define BERTH_RADEON_SDOT4 1
#endif
#endif

namespace berth::kernels::gpu {

// No staging at all: weights are read where they lie. A Radeon has no copies into shared memory
// that run by themselves, gives a block only 64 KiB of it, and reads words at any address; what
// hides the way of its reads is that four times as many warps are under way.
#if defined(BERTH_GPU_HIP) || defined(BERTH_CARD_DIRECT)
inline constexpr bool kDirect = true;
#else
inline constexpr bool kDirect = false;
#endif

// The same address, of the card's memory and not of a block's shared memory: a Radeon has
// instructions of their own for the two, and slower ones for pointers that may be either, as those
// are that were read from memory.
BERTH_CARD_ONLY const uint8_t* InCardMemory(const uint8_t* at) {
#if defined(BERTH_ON_RADEON) && defined(__HIPCC__)
  // By way of an integer: two casts between kinds of pointers would cancel each other.
  return (const uint8_t*)(const __attribute__((address_space(1))) uint8_t*)(uintptr_t)at;  // NOLINT
#else
  return at;
#endif
}

BERTH_CARD uint32_t BitsOf(float value) {
#if defined(BERTH_ON_NVIDIA)
  return __float_as_uint(value);
#else
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}
BERTH_CARD float FloatOf(uint32_t bits) {
#if defined(BERTH_ON_NVIDIA)
  return __uint_as_float(bits);
#else
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

BERTH_CARD uint32_t CountBits(uint32_t value) {
#if defined(BERTH_ON_NVIDIA)
  return static_cast<uint32_t>(__popc(static_cast<int>(value)));
#else
  return static_cast<uint32_t>(__builtin_popcount(value));
#endif
}

// One rounding each, and no compiler joins two of them, whatever its flags are.
BERTH_CARD float Add(float a, float b) {
#if defined(BERTH_ON_NVIDIA)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
BERTH_CARD float Sub(float a, float b) {
#if defined(BERTH_ON_NVIDIA)
  return __fsub_rn(a, b);
#else
  return a - b;
#endif
}
BERTH_CARD float Mul(float a, float b) {
#if defined(BERTH_ON_NVIDIA)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
BERTH_CARD float Div(float a, float b) {
#if defined(BERTH_ON_NVIDIA)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
BERTH_CARD float Fma(float a, float b, float c) {
#if defined(BERTH_ON_NVIDIA)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

BERTH_CARD float Bfloat16ToFloat(uint32_t bits) { return FloatOf(bits << 16); }

// Two floats as BF16, each rounded to the nearest, half to even; `low` in the lower half.
BERTH_CARD uint32_t Bfloat16Pair(float low, float high) {
#if defined(BERTH_ON_NVIDIA)
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  const auto rounded = [](float value) {
    const uint32_t bits = BitsOf(value);
    if (value != value) return 0x7fffu;
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  };
  return rounded(low) | rounded(high) << 16;
#endif
}

// Products, and a less a number that is a BF16, of two BF16 each, rounded once.
BERTH_CARD uint32_t MulBfloat16Pairs(uint32_t a, uint32_t b) {
#if defined(BERTH_ON_NVIDIA)
  uint32_t pair;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(a), "r"(b), "r"(0x80008000u));
  return pair;
#else
  return Bfloat16Pair(FloatOf(a << 16) * FloatOf(b << 16),
                      FloatOf(a & 0xffff0000) * FloatOf(b & 0xffff0000));
#endif
}
BERTH_CARD uint32_t LessBfloat16Pair(uint32_t a, float less) {
#if defined(BERTH_ON_NVIDIA)
  uint32_t pair;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(pair)
      : "r"(a), "r"(0x3f803f80u), "r"((BitsOf(-less) >> 16) * 0x10001u));
  return pair;
#else
  return Bfloat16Pair(FloatOf(a << 16) - less, FloatOf(a & 0xffff0000) - less);
#endif
}

// c + the sum of the products of four signed bytes each.
BERTH_CARD int32_t ByteDot(uint32_t a, uint32_t b, int32_t c) {
#if defined(BERTH_ON_NVIDIA)
  return __dp4a(static_cast<int>(a), static_cast<int>(b), c);
#elif defined(BERTH_RADEON_SUDOT4)
  return __builtin_amdgcn_sudot4(true, static_cast<int>(a), true, static_cast<int>(b), c, false);
#elif defined(BERTH_RADEON_SDOT4)
  return __builtin_amdgcn_sdot4(static_cast<int>(a), static_cast<int>(b), c, false);
#else
  for (int i = 0; i < 32; i += 8) {
    c += static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i);
  }
  return c;
#endif
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CARD_CODE_H_
