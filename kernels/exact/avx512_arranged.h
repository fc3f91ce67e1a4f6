// A second frame of the exact dot products on AVX-512 with VNNI, for formats whose weights are
// small numbers: two weight rows at a time, whose sixteen blocks of 32 stand in the sixteen lanes
// of one vector. The activations are first brought into the order in which the format's weights
// come out of their bytes, once for all weight rows of a call, so that the integer results of many
// blocks are summed at once and weights need not be reordered.
//
// To be included by files that are compiled for AVX-512 and by nobody else; everything is internal
// to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX512_ARRANGED_H_
#define BERTH_KERNELS_EXACT_AVX512_ARRANGED_H_

#include <type_traits>

#include "kernels/exact/avx512_orders.h"
#include "kernels/exact/kernel_sets.h"
#include "kernels/exact/row_end.h"
#include "kernels/exact/row_pairs.h"

namespace berth::kernels {
namespace {

// 256 columns of an activation row, in an order of the format.
struct alignas(64) Arranged {
  int8_t q[256];
  float d[16];  // lane l: of the block whose result stands there
  union {
    int32_t offset[16];  // lane l: Format::kOffset times the sum of q over its block
    int16_t sums[32];    // lane l: the sums of q over the two halves of its block
    float s[16];         // lane l: d times the sum of q over its block, rounded
  };
};
// s is of the first half of a block, s_high of the second.
struct ArrangedHalves : Arranged {
  float s_high[16];
};
template <typename Format>
using ArrangedFor =
    std::conditional_t<Format::kMinima == Minima::kHalves, ArrangedHalves, Arranged>;

// A format:
//   static constexpr uint32_t kElements, kBytes;   of a block
//   static constexpr Minima kMinima;
//   static constexpr bool kTwoScales;
//   static constexpr Lane Of(int lane);
//   static constexpr int kOffset;     without minima; 0: Arranged has the sums
//   static void Arrange(const int8_t* q, int8_t* to);
//   struct Group;    256 columns of two weight rows; has what avx2_frame.h says of one
//   template <int kQuads> static void Load(const uint8_t* a, const uint8_t* b, Group* to);
//                    with kQuads = 1, of formats whose blocks are less than 256: 128 columns; the
//                    lanes of the others do not count
//   template <int kQuads> static __m512i Integers(const Group& group, const Arranged& x);
//   static __m512i HighIntegers(const Group& group, const Arranged& x);   with kTwoScales
template <typename Format>
inline void ArrangeGroup(const ActivationRow& row, uint32_t g, ArrangedFor<Format>* to) {
  Format::Arrange(row.q + 256 * g, to->q);
  const float* const d = row.d + 8 * g;
  const float* const s = row.s + 8 * g;
  const int16_t* const sums = row.sums + 16 * g;
  for (int lane = 0; lane < 16; ++lane) {
    const int block = Format::Of(lane).block;
    to->d[lane] = d[block];
    if constexpr (Format::kMinima == Minima::kBlocks) {
      to->s[lane] = s[block];
    } else if constexpr (Format::kMinima == Minima::kHalves) {
      to->s[lane] = d[block] * static_cast<float>(sums[2 * block]);
      to->s_high[lane] = d[block] * static_cast<float>(sums[2 * block + 1]);
    } else if constexpr (Format::kOffset == 0) {
      to->sums[2 * lane] = sums[2 * block];
      to->sums[2 * lane + 1] = sums[2 * block + 1];
    } else {
      to->offset[lane] = Format::kOffset * (sums[2 * block] + sums[2 * block + 1]);
    }
  }
}

template <typename Format>
void ArrangeRow(const ActivationRow& row, uint32_t cols, ArrangedFor<Format>* to) {
  const bool overlap = RowEndOf(cols) == RowEnd::kOverlap;
  const uint32_t groups = overlap ? cols / 256 : (cols + 255) / 256;
  for (uint32_t g = 0; g < groups; ++g, ++to) {
    ArrangeGroup<Format>(row, g, to);
  }
  if (overlap) {
    const OverlapColumns last(row, cols);
    ArrangeGroup<Format>(last.Row(), 0, to);
  }
}

// The lanes of blocks 0 to 3.
template <Lane (*kLane)(int)>
constexpr __mmask16 FirstQuads() {
  __mmask16 lanes = 0;
  for (int lane = 0; lane < 16; ++lane) {
    if (kLane(lane).block < 4) lanes |= static_cast<__mmask16>(1 << lane);
  }
  return lanes;
}

template <typename Format, int kQuads>
inline __m512 AddArranged(const typename Format::Group& group, const ArrangedFor<Format>& x,
                          __m512 sums) {
  const __m512 da = _mm512_load_ps(x.d);
  const __m512 low = _mm512_cvtepi32_ps(Format::template Integers<kQuads>(group, x));
  const __m512 before = sums;
  sums = _mm512_fmadd_ps(_mm512_mul_ps(group.d, da), low, sums);
  if constexpr (Format::kTwoScales) {
    const __m512 high = _mm512_cvtepi32_ps(Format::template HighIntegers<kQuads>(group, x));
    sums = _mm512_fmadd_ps(_mm512_mul_ps(group.d_high, da), high, sums);
  }
  if constexpr (Format::kMinima != Minima::kNone) {
    sums = _mm512_fnmadd_ps(group.minimum, _mm512_load_ps(x.s), sums);
  }
  if constexpr (Format::kMinima == Minima::kHalves) {
    sums = _mm512_fnmadd_ps(group.minimum_high, _mm512_load_ps(x.s_high), sums);
  }
  // Zero added to -0, which minima can bring about, would change it.
  if constexpr (kQuads == 1) return _mm512_mask_mov_ps(before, FirstQuads<&Format::Of>(), sums);
  return sums;
}

template <typename Format>
class RowPair {
 public:
  RowPair(const DotCall& call, const ArrangedFor<Format>* rows, uint32_t row_count)
      : call_(call),
        rows_(rows),
        row_count_(row_count),
        groups_((call.cols + 255) / 256),
        overlap_(call.cols % 256 / 32) {}

  // Weight rows w and, unless `alone`, w + 1; activation rows from `first` on.
  template <uint32_t kRows>
  void Dot(uint32_t w, bool alone, uint32_t first) {
    const uint8_t* a = Bytes(call_.weights) + size_t{w} * call_.row_bytes;
    const uint8_t* b = alone ? a : a + call_.row_bytes;
    const uint32_t row_count = kRows < kMaxDotRows ? kRows : row_count_;
    __m512 sums[kRows];
    for (uint32_t r = 0; r < row_count; ++r) sums[r] = _mm512_setzero_ps();
    uint32_t g = 0;
    for (; g < call_.cols / 256; ++g) {
      // Both rows: ahead of the first alone, the second row's beginning would be asked for as it is
      // needed.
      Prefetch<kGroupBytes>(a);
      Prefetch<kGroupBytes>(b);
      Add<2>(a, b, g, row_count, sums);
      a += kGroupBytes;
      b += kGroupBytes;
    }
    if constexpr (Format::kElements < 256) {
      const RowEnd end = RowEndOf(call_.cols);
      if (end == RowEnd::kHalf) {
        Add<1>(a, b, g, row_count, sums);
      } else if (end != RowEnd::kNone) {
        AddRareEnd(a, b, g, row_count, sums);
      }
    }
    const __m512i order = LanesInOrder<&Format::Of>();
    for (uint32_t r = 0; r < row_count; ++r) {
      const __m512 both = _mm512_permutexvar_ps(order, sums[r]);
      float* const out = call_.out + (first + r) * call_.out_stride + w;
      out[0] = Total(_mm512_castps512_ps256(both));
      if (!alone) out[1] = Total(_mm512_extractf32x8_ps(both, 1));
    }
  }

 private:
  static constexpr int kGroupBytes = 256 / Format::kElements * Format::kBytes;

  template <int kQuads>
  void Add(const uint8_t* a, const uint8_t* b, uint32_t g, uint32_t row_count, __m512* sums) {
    typename Format::Group group;
    Format::template Load<kQuads>(a, b, &group);
    for (uint32_t r = 0; r < row_count; ++r) {
      sums[r] = AddArranged<Format, kQuads>(group, rows_[r * groups_ + g], sums[r]);
    }
  }

  void AddRareEnd(const uint8_t* a, const uint8_t* b, uint32_t g, uint32_t row_count,
                  __m512* sums) {
    const size_t bytes = call_.cols % 256 / Format::kElements * Format::kBytes;
    if (RowEndOf(call_.cols) == RowEnd::kOverlap) {
      AddOverlap(a - (kGroupBytes - bytes), b - (kGroupBytes - bytes), g, row_count, sums);
      return;
    }
    uint8_t padded[2][kGroupBytes] = {};
    memcpy(padded[0], a, bytes);
    memcpy(padded[1], b, bytes);
    Add<2>(padded[0], padded[1], g, row_count, sums);
  }

  // Blocks that have been do not count, whatever their scales are.
  void AddOverlap(const uint8_t* a, const uint8_t* b, uint32_t g, uint32_t row_count,
                  __m512* sums) {
    const __m512i to_blocks = _mm512_load_si512(overlap_.to_blocks);
    const __m512i to_sums = _mm512_load_si512(overlap_.to_sums);
    typename Format::Group group;
    Format::template Load<2>(a, b, &group);
    for (uint32_t r = 0; r < row_count; ++r) {
      const __m512 before = _mm512_permutexvar_ps(to_blocks, sums[r]);
      const __m512 after = AddArranged<Format, 2>(group, rows_[r * groups_ + g], before);
      sums[r] = _mm512_permutexvar_ps(to_sums, _mm512_mask_mov_ps(before, overlap_.counts, after));
    }
  }

  // Lanes of the sums to the lanes of the last 256 columns' blocks, and back; which blocks count.
  struct Overlap {
    alignas(64) int32_t to_blocks[16];
    alignas(64) int32_t to_sums[16];
    __mmask16 counts = 0;

    explicit Overlap(uint32_t left) {
      int32_t lane_of[2][8];
      for (int lane = 0; lane < 16; ++lane) {
        lane_of[Format::Of(lane).row][Format::Of(lane).block] = lane;
      }
      for (int lane = 0; lane < 16; ++lane) {
        const Lane own = Format::Of(lane);
        to_blocks[lane] = lane_of[own.row][(own.block + left) % 8];
        to_sums[to_blocks[lane]] = lane;
        if (own.block + left >= 8) counts |= static_cast<__mmask16>(1 << lane);
      }
    }
  };

  const DotCall& call_;
  const ArrangedFor<Format>* const rows_;
  const uint32_t row_count_;
  const uint32_t groups_;
  const Overlap overlap_;
};

// 72 to 84 KiB of stack.
template <typename Format>
void DotArranged(const DotCall& call) {
  DotInRowPairs<ArrangedFor<Format>, RowPair<Format>, &ArrangeRow<Format>, &Avx512AnyDot>(call);
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_ARRANGED_H_
