// The frame of the exact dot products of the lattice formats on AVX-512 with VNNI and VBMI.
//
// A group's 256 weights are 64 quads. Byte c of plane j is weight j of quad c, so the vector
// instruction that looks up 64 points gives planes, not runs of weights; and vpdpbusd, which adds
// up four neighbouring bytes, puts half l of the group (quads 4 l to 4 l + 3) into lane l, the same
// for all planes: the sixteen half sums need no shuffling. The activations are brought into that
// order once per call.
//
// Weights are unsigned: kOffset is added to them, and kOffset times the activations' sums goes off
// again. Two weight rows go together, for they share the loads of the activations, and their eight
// blocks each fill one vector from there on (the order of Pair):
//   a0 a1 b0 b1 | a2 a3 b2 b3 | a4 a5 b4 b5 | a6 a7 b6 b7
//
// To be included by files that are compiled for AVX-512 with VBMI and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX512_QUADS_H_
#define BERTH_KERNELS_EXACT_AVX512_QUADS_H_

#include "kernels/exact/avx512_frame.h"

namespace berth::kernels {
namespace {

struct ByteTable {
  alignas(64) uint8_t bytes[64];
};

// 256 columns of an activation row.
struct alignas(64) QuadColumns {
  int8_t q[4][64];
  int32_t offset[16];  // per half: -kOffset times the sum of q
  float d[16];         // in the order of Pair
};

constexpr ByteTable MakePlaneOrder() {
  ByteTable order{};
  for (int i = 0; i < 64; ++i) order.bytes[i] = static_cast<uint8_t>(4 * (i % 16) + i / 16);
  return order;
}
constexpr ByteTable kPlaneOrder = MakePlaneOrder();

inline void ToQuads(const ActivationRow& row, uint32_t col, int offset, QuadColumns* to) {
  const __m512i order = Load512(kPlaneOrder.bytes);
  __m512i part[4];  // lane j: the bytes of plane j
  for (int i = 0; i < 4; ++i) {
    part[i] = _mm512_permutexvar_epi8(order, Load512(row.q + col + 64 * i));
  }
  const __m512i low01 = _mm512_shuffle_i32x4(part[0], part[1], 0x44);
  const __m512i low23 = _mm512_shuffle_i32x4(part[2], part[3], 0x44);
  const __m512i high01 = _mm512_shuffle_i32x4(part[0], part[1], 0xee);
  const __m512i high23 = _mm512_shuffle_i32x4(part[2], part[3], 0xee);
  _mm512_store_si512(to->q[0], _mm512_shuffle_i32x4(low01, low23, 0x88));
  _mm512_store_si512(to->q[1], _mm512_shuffle_i32x4(low01, low23, 0xdd));
  _mm512_store_si512(to->q[2], _mm512_shuffle_i32x4(high01, high23, 0x88));
  _mm512_store_si512(to->q[3], _mm512_shuffle_i32x4(high01, high23, 0xdd));
  const __m512i sums = _mm512_cvtepi16_epi32(Load256(row.sums + col / 16));
  _mm512_store_si512(to->offset, _mm512_mullo_epi32(sums, _mm512_set1_epi32(-offset)));
  const __m512i twice = _mm512_setr_epi32(0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7);
  const __m512 d = _mm512_castps256_ps512(_mm256_loadu_ps(row.d + col / 32));
  _mm512_store_ps(to->d, _mm512_permutexvar_ps(twice, d));
}

// Bytes over and over that depend on the low four bits of their index.
constexpr ByteTable MakeNibbleTable(const uint8_t (&values)[16]) {
  ByteTable table{};
  for (int i = 0; i < 64; ++i) table.bytes[i] = values[i % 16];
  return table;
}

// By seven bits.
struct SevenTable {
  alignas(64) uint8_t bytes[128];
};
// Eight signs by the seven that are stored: their number is even.
constexpr uint8_t EvenSigns(uint32_t seven) {
  uint32_t odd = 0;
  for (int i = 0; i < 7; ++i) odd ^= (seven >> i) & 1;
  return static_cast<uint8_t>(seven | odd << 7);
}

// 64 bytes; the two highest bits of an index do not matter.
inline __m512i Lookup(const uint8_t* table, __m512i index) {
  return _mm512_permutexvar_epi8(index, _mm512_load_si512(table));
}
// The highest bit of an index does not matter.
inline __m512i Lookup(const SevenTable& table, __m512i index) {
  return _mm512_permutex2var_epi8(_mm512_load_si512(table.bytes), index,
                                  _mm512_load_si512(table.bytes + 64));
}

// Tables longer than a vector take one lookup per 64 entries under a mask. (The instruction for 128
// entries is two shuffles and a third operation where there is one unit for shuffles.)

// An index into such a table: bytes, and what lies beyond 64 as masks. Bits 8 to 10 do not fit
// in the bytes.
struct LongIndex {
  __m512i low;
  __mmask64 bit6, bit7, both, bit8, bit9, bit10;
};
inline LongIndex MakeLongIndex(__m512i low, __mmask64 bit8 = 0, __mmask64 bit9 = 0,
                               __mmask64 bit10 = 0) {
  const __mmask64 bit6 = _mm512_test_epi8_mask(low, _mm512_set1_epi8(0x40));
  const __mmask64 bit7 = _mm512_movepi8_mask(low);
  return {low, bit6, bit7, _kand_mask64(bit6, bit7), bit8, bit9, bit10};
}

template <size_t kSize>
inline __m512i LookupLong(const uint8_t* table, const LongIndex& index) {
  if constexpr (kSize > 256) {
    // Halves on their own: shorter chains of lookups that wait for each other.
    const __mmask64 upper = kSize == 512 ? index.bit8 : kSize == 1024 ? index.bit9 : index.bit10;
    static_assert(kSize <= 2048);
    return _mm512_mask_blend_epi8(upper, LookupLong<kSize / 2>(table, index),
                                  LookupLong<kSize / 2>(table + kSize / 2, index));
  } else {
    // Of the lookups that a byte takes part in the last one counts.
    static_assert(kSize == 256);
    const auto look = [&](__m512i otherwise, __mmask64 where, const uint8_t* part) {
      return _mm512_mask_permutexvar_epi8(otherwise, where, index.low, _mm512_load_si512(part));
    };
    __m512i found = Lookup(table, index.low);
    found = look(found, index.bit6, table + 64);
    found = look(found, index.bit7, table + 128);
    return look(found, index.both, table + 192);
  }
}

// 2 s + 1 for the sub-scales s of so many bits that stand one place to the left of where they
// belong.
template <int kBits = 4>
inline __m512 ToScales(__m512i twice) {
  const __m512i even = _mm512_and_si512(twice, _mm512_set1_epi32((2 << kBits) - 2));
  return _mm512_cvtepi32_ps(_mm512_or_si512(even, _mm512_set1_epi32(1)));
}

// What Format::Load makes of 256 weights each of two rows.
struct PairGroup {
  __m512i planes[2][4];
  // Sub-scales as floats: in the order of Pair, or, with kHalves, per half of each row.
  __m512 scale[2];
  __m512 d;  // in the order of Pair
};

// Two F16 numbers, the upper 16 bits of whatever kind, in the order of Pair.
inline __m512 PairOfF16(int a, int b) {
  const __m256i both = _mm256_mask_set1_epi32(_mm256_set1_epi32(a), 0xaa, b);
  return _mm512_moveldup_ps(_mm512_cvtph_ps(both));
}
// From memory, each followed by two more bytes that may be read.
inline __m512 LoadPairOfF16(const uint8_t* a, const uint8_t* b) {
  int a_bits, b_bits;
  memcpy(&a_bits, a, sizeof(a_bits));
  memcpy(&b_bits, b, sizeof(b_bits));
  return PairOfF16(a_bits, b_bits);
}

// All the integers are smaller than 2^24, so that products with sub-scales are exact in floats.
template <typename Format>
inline __m512 AddPair(const PairGroup& group, const QuadColumns& columns, __m512 sums) {
  __m512i a = _mm512_load_si512(columns.offset);
  __m512i b = a;
  for (int j = 0; j < 4; ++j) {
    const __m512i q = _mm512_load_si512(columns.q[j]);
    a = _mm512_dpbusd_epi32(a, group.planes[0][j], q);
    b = _mm512_dpbusd_epi32(b, group.planes[1][j], q);
  }
  __m512 integers;
  if constexpr (Format::kHalves) {
    const __m512 a_scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(a), group.scale[0]);
    const __m512 b_scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(b), group.scale[1]);
    integers = _mm512_add_ps(_mm512_shuffle_ps(a_scaled, b_scaled, 0x88),
                             _mm512_shuffle_ps(a_scaled, b_scaled, 0xdd));
  } else {
    const __m512 a_bits = _mm512_castsi512_ps(a), b_bits = _mm512_castsi512_ps(b);
    const __m512i first = _mm512_castps_si512(_mm512_shuffle_ps(a_bits, b_bits, 0x88));
    const __m512i second = _mm512_castps_si512(_mm512_shuffle_ps(a_bits, b_bits, 0xdd));
    integers = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(first, second)), group.scale[0]);
  }
  return _mm512_fmadd_ps(_mm512_mul_ps(group.d, _mm512_load_ps(columns.d)), integers, sums);
}

// A row goes in panels of so many groups, whose activations fit in the first-level cache for one
// row; the running sums of so many pairs of weight rows wait between panels.
constexpr uint32_t kPanelGroups = 16, kChunkPairs = 16;

template <typename Format, uint32_t kRows>
struct QuadDot {
  static constexpr uint32_t kGroupBytes = Format::kBytes;

  // The panel from group `first` on, for both rows of a pair.
  static void AddPanel(const uint8_t* a, const uint8_t* b, uint32_t groups, uint32_t row_count,
                       const QuadColumns* columns, __m512* sums) {
    if constexpr (kRows == 1) row_count = 1;
    __m512 running[kRows];
    for (uint32_t r = 0; r < row_count; ++r) running[r] = sums[r];
    for (uint32_t g = 0; g < groups; ++g, a += kGroupBytes, b += kGroupBytes) {
      Prefetch<kGroupBytes>(a);
      Prefetch<kGroupBytes>(b);
      PairGroup group;
      Format::Load(a, b, &group);
      for (uint32_t r = 0; r < row_count; ++r) {
        running[r] = AddPair<Format>(group, columns[r * kPanelGroups + g], running[r]);
      }
    }
    for (uint32_t r = 0; r < row_count; ++r) sums[r] = running[r];
  }

  static void Run(const DotCall& call) {
    QuadColumns columns[kRows * kPanelGroups];
    __m512 sums[kChunkPairs][kRows];
    const uint32_t groups = call.cols / 256, pairs = (call.weight_rows + 1) / 2;
    for (uint32_t chunk = 0; chunk < pairs; chunk += kChunkPairs) {
      const uint32_t count = pairs - chunk < kChunkPairs ? pairs - chunk : kChunkPairs;
      memset(sums, 0, sizeof(sums));
      for (uint32_t first = 0; first < groups; first += kPanelGroups) {
        const uint32_t panel = groups - first < kPanelGroups ? groups - first : kPanelGroups;
        if (chunk == 0 || groups > kPanelGroups) {
          for (uint32_t r = 0; r < call.row_count; ++r) {
            for (uint32_t g = 0; g < panel; ++g) {
              ToQuads(call.rows[r], 256 * (first + g), Format::kOffset,
                      &columns[r * kPanelGroups + g]);
            }
          }
        }
        for (uint32_t p = 0; p < count; ++p) {
          const uint32_t w = 2 * (chunk + p);
          const uint8_t* const a = Bytes(call.weights) + w * call.row_bytes + first * kGroupBytes;
          // An odd row out is its own partner.
          const uint8_t* const b = w + 1 < call.weight_rows ? a + call.row_bytes : a;
          AddPanel(a, b, panel, call.row_count, columns, sums[p]);
        }
      }
      for (uint32_t p = 0; p < count; ++p) Finish(call, 2 * (chunk + p), sums[p]);
    }
  }

  static void Finish(const DotCall& call, uint32_t w, const __m512* sums) {
    const __m512i order = _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    for (uint32_t r = 0; r < call.row_count; ++r) {
      const __m512 apart = _mm512_permutexvar_ps(order, sums[r]);
      float* const out = call.out + r * call.out_stride + w;
      out[0] = Total(_mm512_castps512_ps256(apart));
      if (w + 1 < call.weight_rows) out[1] = Total(_mm512_extractf32x8_ps(apart, 1));
    }
  }
};

template <typename Format>
void DotQuads(const DotCall& call) {
  if (call.row_count == 1) return QuadDot<Format, 1>::Run(call);
  QuadDot<Format, kMaxDotRows>::Run(call);
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_QUADS_H_
