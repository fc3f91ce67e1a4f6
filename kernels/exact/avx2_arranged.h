// A second frame of the exact dot products on AVX2, for formats whose weights are small numbers.
// The activations are first brought into the order in which the format's weights come out of their
// bytes, once for all weight rows of a call; so ordered, the two 128-bit parts of every vector have
// blocks 0 to 3 and blocks 4 to 7, and results come out block by block in the eight lanes.
//
// To be included by files that are compiled for AVX2 and by nobody else; everything is internal to
// them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_ARRANGED_H_
#define BERTH_KERNELS_EXACT_AVX2_ARRANGED_H_

#include <type_traits>

#include "kernels/exact/avx2_frame.h"
#include "kernels/exact/kernel_sets.h"
#include "kernels/exact/row_end.h"
#include "kernels/exact/row_pairs.h"

namespace berth::kernels {
namespace {

// 256 columns of an activation row, q in an order of the format.
struct alignas(32) Arranged {
  int8_t q[256];
  float d[8];
  int16_t sums[16];
  float s[8];  // d times the sum of q, rounded

  __m256i Q(int i) const { return _mm256_load_si256(reinterpret_cast<const __m256i*>(q + 32 * i)); }
  __m256i Sums() const { return _mm256_load_si256(reinterpret_cast<const __m256i*>(sums)); }
  // Lane b: the sum over block b, times `factor`.
  __m256i BlockSums(int16_t factor) const {
    return _mm256_madd_epi16(Sums(), _mm256_set1_epi16(factor));
  }
};

inline uint32_t LoadU16(const uint8_t* from) {
  uint16_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}
inline uint32_t LoadU32(const uint8_t* from) {
  uint32_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}

// s is of the first half of a block, s_high of the second.
struct ArrangedHalves : Arranged {
  float s_high[8];
};
template <typename Format>
using ArrangedFor =
    std::conditional_t<Format::kMinima == Minima::kHalves, ArrangedHalves, Arranged>;

// 16 bytes for blocks 0 to 3, and 16 for blocks 4 to 7.
inline __m256i LoadParts(const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(Load128(low)), Load128(high), 1);
}

// A format:
//   static constexpr uint32_t kElements, kBytes;   of a block
//   static constexpr Minima kMinima;
//   static constexpr bool kTwoScales;
//   static void Arrange(const int8_t* low, const int8_t* high, int8_t* to);
//                    128 columns each
//   struct Group;    256 columns of a weight row; has what avx2_frame.h says
//   static void Load(const uint8_t* low, const uint8_t* high, Group* to);
//                    128 columns each; of blocks of 256, `low` is the block
//   static __m256i Integers(const Group& group, const Arranged& x);
//   static __m256i HighIntegers(const Group& group, const Arranged& x);   with kTwoScales
template <typename Format>
inline __m256 AddArranged(const typename Format::Group& group, const ArrangedFor<Format>& x,
                          __m256 sums) {
  const __m256 da = _mm256_load_ps(x.d);
  const __m256 low = _mm256_cvtepi32_ps(Format::Integers(group, x));
  sums = _mm256_fmadd_ps(_mm256_mul_ps(group.d, da), low, sums);
  if constexpr (Format::kTwoScales) {
    const __m256 high = _mm256_cvtepi32_ps(Format::HighIntegers(group, x));
    sums = _mm256_fmadd_ps(_mm256_mul_ps(group.d_high, da), high, sums);
  }
  if constexpr (Format::kMinima != Minima::kNone) {
    sums = _mm256_fnmadd_ps(group.minimum, _mm256_load_ps(x.s), sums);
  }
  if constexpr (Format::kMinima == Minima::kHalves) {
    sums = _mm256_fnmadd_ps(group.minimum_high, _mm256_load_ps(x.s_high), sums);
  }
  return sums;
}

template <typename Format>
inline void ArrangeHalves(const ActivationRow& row, uint32_t low, uint32_t high,
                          ArrangedFor<Format>* to) {
  Format::Arrange(row.q + low, row.q + high, to->q);
  memcpy(to->d, row.d + low / 32, 16);
  memcpy(to->d + 4, row.d + high / 32, 16);
  memcpy(to->s, row.s + low / 32, 16);
  memcpy(to->s + 4, row.s + high / 32, 16);
  memcpy(to->sums, row.sums + low / 16, 16);
  memcpy(to->sums + 8, row.sums + high / 16, 16);
  if constexpr (Format::kMinima == Minima::kHalves) {
    const __m256 d = _mm256_load_ps(to->d);
    _mm256_store_ps(to->s, HalfSums(to->sums, false, d));
    _mm256_store_ps(to->s_high, HalfSums(to->sums, true, d));
  }
}

// Half a group at the end of a row stands twice: for the ends of two weight rows.
template <typename Format>
void ArrangeRow(const ActivationRow& row, uint32_t cols, ArrangedFor<Format>* to) {
  uint32_t col = 0;
  for (; col + 256 <= cols; col += 256, ++to) ArrangeHalves<Format>(row, col, col + 128, to);
  switch (RowEndOf(cols)) {
    case RowEnd::kNone:
      return;
    case RowEnd::kHalf:
      return ArrangeHalves<Format>(row, col, col, to);
    case RowEnd::kShort:
      return ArrangeHalves<Format>(row, col, col + 128, to);
    case RowEnd::kOverlap: {
      const OverlapColumns last(row, cols);
      return ArrangeHalves<Format>(last.Row(), 0, 128, to);
    }
  }
}

template <typename Format>
class RowPair {
 public:
  RowPair(const DotCall& call, const ArrangedFor<Format>* rows, uint32_t row_count)
      : call_(call), rows_(rows), row_count_(row_count), groups_((call.cols + 255) / 256) {}

  // Weight rows w and, unless `alone`, w + 1; activation rows from `first` on.
  template <uint32_t kRows>
  void Dot(uint32_t w, bool alone, uint32_t first) {
    const uint8_t* const a = Bytes(call_.weights) + size_t{w} * call_.row_bytes;
    const uint8_t* const b = alone ? a : a + call_.row_bytes;
    const uint32_t row_count = kRows < kMaxDotRows ? kRows : row_count_;
    __m256 first_sums[kRows], second_sums[kRows];
    for (uint32_t r = 0; r < row_count; ++r) first_sums[r] = second_sums[r] = _mm256_setzero_ps();
    AddRow(a, row_count, first_sums);
    if (!alone) AddRow(b, row_count, second_sums);
    if constexpr (Format::kElements < 256) {
      if (RowEndOf(call_.cols) == RowEnd::kHalf) {
        AddHalves(a, b, row_count, first_sums, second_sums);
      }
    }
    for (uint32_t r = 0; r < row_count; ++r) {
      float* const out = call_.out + (first + r) * call_.out_stride + w;
      out[0] = Total(first_sums[r]);
      if (!alone) out[1] = Total(second_sums[r]);
    }
  }

 private:
  static constexpr int kGroupBytes = 256 / Format::kElements * Format::kBytes;

  void Add(const uint8_t* low, const uint8_t* high, uint32_t g, uint32_t row_count, __m256* sums) {
    typename Format::Group group;
    Format::Load(low, high, &group);
    for (uint32_t r = 0; r < row_count; ++r) {
      sums[r] = AddArranged<Format>(group, rows_[r * groups_ + g], sums[r]);
    }
  }

  // All but half a group at the end.
  void AddRow(const uint8_t* from, uint32_t row_count, __m256* sums) {
    uint32_t g = 0;
    for (; g < call_.cols / 256; ++g, from += kGroupBytes) {
      Prefetch<kGroupBytes>(from);
      Add(from, from + kGroupBytes / 2, g, row_count, sums);
    }
    if constexpr (Format::kElements < 256) {
      const size_t bytes = call_.cols % 256 / Format::kElements * Format::kBytes;
      if (RowEndOf(call_.cols) == RowEnd::kShort) {
        // The lanes of blocks that are not there have had nothing, and zero added to 0 is 0.
        uint8_t padded[kGroupBytes] = {};
        memcpy(padded, from, bytes);
        Add(padded, padded + kGroupBytes / 2, g, row_count, sums);
      } else if (RowEndOf(call_.cols) == RowEnd::kOverlap) {
        AddOverlap(from - (kGroupBytes - bytes), row_count, sums);
      }
    }
  }

  // Blocks that have been do not count, whatever their scales are.
  void AddOverlap(const uint8_t* from, uint32_t row_count, __m256* sums) {
    const int left = static_cast<int>(call_.cols % 256 / 32);
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    // The permutation takes three bits of an index.
    const __m256i to_blocks = _mm256_add_epi32(lane, _mm256_set1_epi32(left));
    const __m256i to_sums = _mm256_sub_epi32(lane, _mm256_set1_epi32(left));
    const __m256 counts =
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(7 - left)));
    typename Format::Group group;
    Format::Load(from, from + kGroupBytes / 2, &group);
    for (uint32_t r = 0; r < row_count; ++r) {
      const __m256 before = _mm256_permutevar8x32_ps(sums[r], to_blocks);
      const __m256 after = AddArranged<Format>(group, rows_[r * groups_ + groups_ - 1], before);
      sums[r] = _mm256_permutevar8x32_ps(_mm256_blendv_ps(before, after, counts), to_sums);
    }
  }

  // The last 128 columns of both rows: lanes 0 to 3 of their sums.
  void AddHalves(const uint8_t* a, const uint8_t* b, uint32_t row_count, __m256* first,
                 __m256* second) {
    const size_t at = size_t{groups_ - 1} * kGroupBytes;
    __m256 both[kMaxDotRows];
    for (uint32_t r = 0; r < row_count; ++r) {
      both[r] = _mm256_permute2f128_ps(first[r], second[r], 0x20);
    }
    Add(a + at, b + at, groups_ - 1, row_count, both);
    for (uint32_t r = 0; r < row_count; ++r) {
      first[r] = _mm256_blend_ps(first[r], both[r], 0x0f);
      second[r] = _mm256_insertf128_ps(second[r], _mm256_extractf128_ps(both[r], 1), 0);
    }
  }

  const DotCall& call_;
  const ArrangedFor<Format>* const rows_;
  const uint32_t row_count_;
  const uint32_t groups_;
};

// 66 to 72 KiB of stack.
template <typename Format>
void DotArranged(const DotCall& call) {
  DotInRowPairs<ArrangedFor<Format>, RowPair<Format>, &ArrangeRow<Format>, &Avx2AnyDot>(call);
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_ARRANGED_H_
