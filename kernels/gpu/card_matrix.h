// Matrix instructions, by whole warps, or by four of them together.
#ifndef BERTH_KERNELS_GPU_CARD_MATRIX_H_
#define BERTH_KERNELS_GPU_CARD_MATRIX_H_

#include <cstdint>
#include <cstring>

#include "kernels/gpu/card_warp.h"
#include "kernels/gpu/staging.h"

// Whether what is compiled has them; a card without takes units of many rows in chunks.
#if defined(__HIPCC__)
#define BERTH_HAS_MATRIX_UNITS 0
#else
#define BERTH_HAS_MATRIX_UNITS 1
#endif
// Instructions of four warps that read shared memory by themselves: compute capability 9.0 alone,
// where it is compiled for as "90a".
#if defined(BERTH_ON_NVIDIA) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define BERTH_HAS_WARPGROUP_MATRICES 1
#else
#define BERTH_HAS_WARPGROUP_MATRICES 0
#endif

namespace berth::kernels::gpu {

#if BERTH_HAS_MATRIX_UNITS
// sums += a * b: 16 rows of 16 BF16 times 16 rows of 8, F32 sums of 16 rows of 8.
//
// Lane 4 g + t holds of a, two to a register, rows g and g + 8 of columns 2 t and 2 t + 1, then the
// same rows of columns 8 more; of b, of column g, rows 2 t and 2 t + 1, then 8 more; of the sums,
// columns 2 t and 2 t + 1 of row g, then of row g + 8.
//
// In which order a card adds up, and how it rounds in between, is its own affair; the emulated card
// rounds once.
BERTH_CARD_ONLY void MultiplyAdd(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(BERTH_ON_NVIDIA)
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
#elif !defined(__CUDACC__)
  // Columns 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of a row of a or column of b, by lane.
  uint64_t rows[2][kWarp], cols[kWarp];
  const auto exchange = [](uint32_t low, uint32_t high, uint64_t(&to)[kWarp]) {
    const uint64_t* const all = emulated::Exchange(low | static_cast<uint64_t>(high) << 32);
    for (uint32_t i = 0; i < kWarp; ++i) to[i] = all[i];
  };
  exchange(a[0], a[2], rows[0]);
  exchange(a[1], a[3], rows[1]);
  exchange(b[0], b[1], cols);
  const uint32_t g = Lane() / 4, t = Lane() % 4;
  for (uint32_t i = 0; i < 4; ++i) {
    double sum = sums[i];
    for (uint32_t lane = 0; lane < 4; ++lane) {
      const uint64_t left = rows[i / 2][4 * g + lane], right = cols[4 * (2 * t + i % 2) + lane];
      for (uint32_t shift = 0; shift < 64; shift += 16) {
        sum += static_cast<double>(Bfloat16ToFloat(left >> shift & 0xffff)) *
               Bfloat16ToFloat(right >> shift & 0xffff);
      }
    }
    sums[i] = static_cast<float>(sum);
  }
#endif
}

// b lies in shared memory: BF16, eight of a row at a time (16 bytes), those of eight rows one after
// the other; the next eight columns of the eight rows kPiece bytes behind, the next eight rows
// kApart bytes behind.
// Tiles of eight rows that there are sums for: of the one or the other.
inline constexpr uint32_t kMatrixMostTiles = 14, kMatrixFewTiles = 4;

// Of b, for two steps: what a lane holds of rows 8 tile on.
template <uint32_t kApart, uint32_t kPiece>
BERTH_CARD_ONLY void LoadMatrices(const uint8_t* b, uint32_t tile, uint32_t step,
                                  uint32_t (&words)[4]) {
  const uint8_t* const at = b + tile * kApart + 2 * step * kPiece;
#if defined(BERTH_ON_NVIDIA) && __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(SharedAddress(at) + Lane() / 8 * kPiece + Lane() % 8 * 16)
               : "memory");
#else
  for (uint32_t i = 0; i < 4; ++i) {
    std::memcpy(&words[i], at + i * kPiece + Lane() * 4, sizeof(words[i]));
  }
#endif
}

#if BERTH_HAS_WARPGROUP_MATRICES
// On an H200 they give the bits of MultiplyAdd (14 tiles of numbers of up to 24 magnitudes
// compared).
//
// `list`: the sums of so many tiles of eight rows of b. All `most` tiles' are operands, `all`, so
// that those behind have the same names everywhere.
#define BERTH_MATRIX_SUMS(i) "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
#define BERTH_ALL_SUMS_4 \
  BERTH_MATRIX_SUMS(0), BERTH_MATRIX_SUMS(1), BERTH_MATRIX_SUMS(2), BERTH_MATRIX_SUMS(3)
#define BERTH_ALL_SUMS_14                                                                      \
  BERTH_ALL_SUMS_4, BERTH_MATRIX_SUMS(4), BERTH_MATRIX_SUMS(5), BERTH_MATRIX_SUMS(6),          \
      BERTH_MATRIX_SUMS(7), BERTH_MATRIX_SUMS(8), BERTH_MATRIX_SUMS(9), BERTH_MATRIX_SUMS(10), \
      BERTH_MATRIX_SUMS(11), BERTH_MATRIX_SUMS(12), BERTH_MATRIX_SUMS(13)
#define BERTH_BEHIND_4 "{%16, %17, %18, %19}, %20"
#define BERTH_BEHIND_14 "{%56, %57, %58, %59}, %60"
#define BERTH_WARPGROUP_PRODUCT(most, tiles, rows, list, all, behind)                             \
  template <>                                                                                     \
  struct WarpgroupProduct<most, tiles> {                                                          \
    BERTH_CARD_ONLY static void Add(float (&sums)[most][4], const uint32_t (&a)[4], uint64_t b) { \
      asm volatile(                                                                               \
          "{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\n"                                              \
          "wgmma.mma_async.sync.aligned.m64n" #rows "k16.f32.bf16.bf16 {" list "}, " behind       \
          ", p, 1, 1, 0;\n}"                                                                      \
          : all                                                                                   \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                  \
    }                                                                                             \
  };
template <uint32_t kMost, uint32_t kTiles>
struct WarpgroupProduct;
#define BERTH_SUMS_2 "%0, %1, %2, %3, %4, %5, %6, %7"
#define BERTH_SUMS_4 BERTH_SUMS_2 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define BERTH_SUMS_6 BERTH_SUMS_4 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define BERTH_SUMS_8 BERTH_SUMS_6 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define BERTH_SUMS_10 BERTH_SUMS_8 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define BERTH_SUMS_12 BERTH_SUMS_10 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define BERTH_SUMS_14 BERTH_SUMS_12 ", %48, %49, %50, %51, %52, %53, %54, %55"
BERTH_WARPGROUP_PRODUCT(4, 2, 16, BERTH_SUMS_2, BERTH_ALL_SUMS_4, BERTH_BEHIND_4)
BERTH_WARPGROUP_PRODUCT(4, 4, 32, BERTH_SUMS_4, BERTH_ALL_SUMS_4, BERTH_BEHIND_4)
BERTH_WARPGROUP_PRODUCT(14, 2, 16, BERTH_SUMS_2, BERTH_ALL_SUMS_14, BERTH_BEHIND_14)
BERTH_WARPGROUP_PRODUCT(14, 4, 32, BERTH_SUMS_4, BERTH_ALL_SUMS_14, BERTH_BEHIND_14)
BERTH_WARPGROUP_PRODUCT(14, 6, 48, BERTH_SUMS_6, BERTH_ALL_SUMS_14, BERTH_BEHIND_14)
BERTH_WARPGROUP_PRODUCT(14, 8, 64, BERTH_SUMS_8, BERTH_ALL_SUMS_14, BERTH_BEHIND_14)
BERTH_WARPGROUP_PRODUCT(14, 10, 80, BERTH_SUMS_10, BERTH_ALL_SUMS_14, BERTH_BEHIND_14)
BERTH_WARPGROUP_PRODUCT(14, 12, 96, BERTH_SUMS_12, BERTH_ALL_SUMS_14, BERTH_BEHIND_14)
BERTH_WARPGROUP_PRODUCT(14, 14, 112, BERTH_SUMS_14, BERTH_ALL_SUMS_14, BERTH_BEHIND_14)

// Where matrices of 8 rows of 16 bytes lie, in pieces of 16 bytes: by kPiece apart along columns,
// by kApart along rows. Sums of the lower half never carry.
template <uint32_t kApart>
BERTH_CARD_ONLY uint64_t WarpgroupOperand(uint32_t lower) {
  return static_cast<uint64_t>(kApart >> 4) << 32 | lower;
}
template <uint32_t kTiles, uint32_t kApart, uint32_t kPiece, uint32_t kMost, uint32_t kSteps>
BERTH_CARD_ONLY void WarpgroupProducts(float (&sums)[kMost][4], const uint32_t (&a)[kSteps][4],
                                       uint32_t b) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  BERTH_UNROLL
  for (uint32_t step = 0; step < kSteps; ++step) {
    WarpgroupProduct<kMost, kTiles>::Add(sums, a[step],
                                         WarpgroupOperand<kApart>(b + step * (2 * kPiece >> 4)));
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Of kFirst to kLast tiles, an even number: by comparisons, since a jump by a table takes longer.
template <uint32_t kFirst, uint32_t kLast, uint32_t kApart, uint32_t kPiece, uint32_t kMost,
          uint32_t kSteps>
BERTH_CARD_ONLY void SomeWarpgroupProducts(float (&sums)[kMost][4], const uint32_t (&a)[kSteps][4],
                                           uint32_t b, uint32_t tiles) {
  if constexpr (kFirst == kLast) {
    WarpgroupProducts<kFirst, kApart, kPiece>(sums, a, b);
  } else {
    constexpr uint32_t kSecond = kFirst + ((kLast - kFirst) / 2 + 1) / 2 * 2;
    if (tiles < kSecond) {
      SomeWarpgroupProducts<kFirst, kSecond - 2, kApart, kPiece>(sums, a, b, tiles);
    } else {
      SomeWarpgroupProducts<kSecond, kLast, kApart, kPiece>(sums, a, b, tiles);
    }
  }
}
#endif

// sums[i] += a * b for `tiles` tiles of eight rows of b (an even number), kSteps times 16 columns,
// in the order of the columns. Sums and a are in use until the products have ended. By all of the
// four warps that make a multiple of four, with the same b and `tiles`.
template <uint32_t kApart, uint32_t kPiece, uint32_t kMost, uint32_t kSteps>
BERTH_CARD_ONLY void BeginProducts(float (&sums)[kMost][4], const uint32_t (&a)[kSteps][4],
                                   const uint8_t* b, uint32_t at, uint32_t tiles) {
#if BERTH_HAS_WARPGROUP_MATRICES
  uint32_t first = SharedAddress(b) >> 4 | (kPiece >> 4) << 16;
  // Else all these operands are made in front of a loop, and wait in memory.
  asm volatile("" : "+r"(first));
  SomeWarpgroupProducts<2, kMost, kApart, kPiece>(sums, a, first + (at >> 4), tiles);
#else
  static_assert(kSteps % 2 == 0);
  BERTH_UNROLL
  for (uint32_t tile = 0; tile < kMost; ++tile) {
    if (tile >= tiles) break;
    BERTH_UNROLL
    for (uint32_t step = 0; step < kSteps; step += 2) {
      uint32_t words[4];
      LoadMatrices<kApart, kPiece>(b + at, tile, step, words);
      MultiplyAdd(sums[tile], a[step], {words[0], words[1]});
      MultiplyAdd(sums[tile], a[step + 1], {words[2], words[3]});
    }
  }
#endif
}
// What the calling thread has copied to shared memory comes before products that follow a barrier.
BERTH_CARD_ONLY void FenceBeforeProducts() {
#if BERTH_HAS_WARPGROUP_MATRICES
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
// Waits until at most kLeft such calls' products are under way.
template <uint32_t kLeft>
BERTH_CARD_ONLY void EndProducts() {
#if BERTH_HAS_WARPGROUP_MATRICES
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
#endif
}
// All products have ended, and sums are read next.
template <uint32_t kMost>
BERTH_CARD_ONLY void ReadSums([[maybe_unused]] float (&sums)[kMost][4]) {
#if BERTH_HAS_WARPGROUP_MATRICES
  BERTH_UNROLL
  for (uint32_t tile = 0; tile < kMost; ++tile) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[tile][i])::"memory");
  }
#endif
}
#endif

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CARD_MATRIX_H_
