// Formats whose weights are one of sixteen, or of four, under each scale: the scale goes into a
// table of floats in a register, once, and every weight is looked up there.
//
// To be included by files that are compiled for AVX-512 and by nobody else; everything is internal
// to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX512_DECODE_TABLES_H_
#define BERTH_KERNELS_EXACT_AVX512_DECODE_TABLES_H_

#include "kernels/exact/avx2_unpack_k.h"

namespace berth::kernels {
namespace {

inline __m512 CountingLevels() {
  return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
inline __m512 CentredLevels() {
  return _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
}
// Facts of the format: github.com/ggml-org/ggml, src/ggml-common.h (kvalues_iq4nl).
inline __m512 Iq4Levels() {
  return _mm512_setr_ps(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
}
// Twice the values (OCP Microscaling Formats v1.0), without the sign of zero.
inline __m512 E2m1Levels() {
  return _mm512_setr_ps(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
}

inline __m512 Scaled(float scale, __m512 levels) {
  return _mm512_mul_ps(_mm512_set1_ps(scale), levels);
}
inline __m512 Scaled(float scale, __m512 levels, float offset) {
  return _mm512_add_ps(Scaled(scale, levels), _mm512_set1_ps(offset));
}

// 16 bytes: the weights of the low nibbles and of the high ones. A lookup takes four bits of its
// index and no more.
inline void LookUpNibbles(const uint8_t* qs, __m512 low_table, __m512 high_table, float* low,
                          float* high) {
  const __m512i bytes = _mm512_cvtepu8_epi32(Load128(qs));
  _mm512_storeu_ps(low, _mm512_permutexvar_ps(bytes, low_table));
  _mm512_storeu_ps(high, _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), high_table));
}

// Blocks of 32 with a table each: using Block; static __m512 Table(const Block& block);
template <typename F>
void DecodeTables32(const Format&, const std::byte* from, size_t blocks, float* to) {
  const auto* block = reinterpret_cast<const typename F::Block*>(from);
  for (size_t i = 0; i < blocks; ++i, ++block, to += 32) {
    const __m512 table = F::Table(*block);
    LookUpNibbles(block->qs, table, table, to, to + 16);
  }
}
struct TableQ4_0 : WithHalf<BlockQ4_0> {
  static __m512 Table(const Block& block) { return Scaled(D(block), CentredLevels()); }
};
struct TableQ4_1 : WithMinimum<BlockQ4_1> {
  static __m512 Table(const Block& block) {
    return Scaled(D(block), CountingLevels(), Offset(block));
  }
};
struct TableIq4_Nl : WithHalf<BlockIq4_Nl> {
  static __m512 Table(const Block& block) { return Scaled(D(block), Iq4Levels()); }
};
struct TableMxfp4 : UnpackMxfp4 {
  static __m512 Table(const Block& block) { return Scaled(D(block), E2m1Levels()); }
};

inline void DecodeQ4_K(const Format&, const std::byte* from, size_t blocks, float* to) {
  const auto* block = reinterpret_cast<const BlockQ4_K*>(from);
  Unpacked scales;
  for (size_t i = 0; i < blocks; ++i, ++block, to += 256) {
    UnpackQ4_K::SetScales(*block, &scales);
    for (int part = 0; part < 4; ++part) {
      const int low = 4 * part, high = 4 * part + 2;
      const __m512 low_table = Scaled(scales.scale[low], CountingLevels(), scales.offset[low]);
      const __m512 high_table = Scaled(scales.scale[high], CountingLevels(), scales.offset[high]);
      for (int half = 0; half < 2; ++half) {
        LookUpNibbles(block->qs + 32 * part + 16 * half, low_table, high_table,
                      to + 16 * (low + half), to + 16 * (high + half));
      }
    }
  }
}

inline void DecodeIq4_Xs(const Format&, const std::byte* from, size_t blocks, float* to) {
  const auto* block = reinterpret_cast<const BlockIq4_Xs*>(from);
  Unpacked scales;
  for (size_t i = 0; i < blocks; ++i, ++block) {
    UnpackIq4_Xs::SetScales(*block, &scales);
    for (int b = 0; b < 8; ++b, to += 32) {
      const __m512 table = Scaled(scales.scale[2 * b], Iq4Levels());
      LookUpNibbles(block->qs + 16 * b, table, table, to, to + 16);
    }
  }
}

// Weight i of sixteen has bits 2 i and 2 i + 1 of a word; the two above them do not matter.
inline void DecodeQ2_0(const Format&, const std::byte* from, size_t blocks, float* to) {
  const auto* block = reinterpret_cast<const BlockQ2_0*>(from);
  const __m512 levels = _mm512_broadcast_f32x4(_mm_setr_ps(-1, 0, 1, 2));
  const __m512i places =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  for (size_t i = 0; i < blocks; ++i, ++block) {
    const __m512 table = Scaled(LoadF16(block->d), levels);
    for (int word = 0; word < 4; ++word, to += 16) {
      const __m512i bits = _mm512_set1_epi32(static_cast<int>(Load32(block->qs + 4 * word)));
      _mm512_storeu_ps(to, _mm512_permutexvar_ps(_mm512_srlv_epi32(bits, places), table));
    }
  }
}

inline DecodeKernel FindTableDecode(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return &DecodeTables32<TableQ4_0>;
    case TensorType::kQ4_1:
      return &DecodeTables32<TableQ4_1>;
    case TensorType::kIQ4_NL:
      return &DecodeTables32<TableIq4_Nl>;
    case TensorType::kMXFP4:
      return &DecodeTables32<TableMxfp4>;
    case TensorType::kQ4_K:
      return &DecodeQ4_K;
    case TensorType::kIQ4_XS:
      return &DecodeIq4_Xs;
    case TensorType::kQ2_0:
      return &DecodeQ2_0;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX512_DECODE_TABLES_H_
