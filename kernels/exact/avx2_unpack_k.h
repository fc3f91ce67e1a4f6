// The formats with integer sub-scales in super-blocks of 256 weights, and their like, for
// avx2_unpack.h.
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_UNPACK_K_H_
#define BERTH_KERNELS_EXACT_AVX2_UNPACK_K_H_

#include "kernels/exact/avx2_unpack_blocks.h"

namespace berth::kernels {
namespace {

template <typename Block, bool kWithMinima = false>
struct UnpackSuperBlock {
  static constexpr uint32_t kElements = 256, kBytes = sizeof(Block);
  static constexpr bool kMinima = kWithMinima;
  static const Block& Of(const uint8_t* from) { return *reinterpret_cast<const Block*>(from); }
  static __m256 Half(const uint8_t* from) { return _mm256_set1_ps(LoadF16(from)); }
};

// 32 bytes of two-bit fields: the 128 weights that they hold, plus `add`.
inline void StorePairs(const uint8_t* qs, int add, int8_t* to) {
  const __m256i bytes = Load256(qs), plus = _mm256_set1_epi8(static_cast<char>(add));
  Store256(_mm256_add_epi8(Fields<0, 3>(bytes), plus), to);
  Store256(_mm256_add_epi8(Fields<2, 3>(bytes), plus), to + 32);
  Store256(_mm256_add_epi8(Fields<4, 3>(bytes), plus), to + 64);
  Store256(_mm256_add_epi8(Fields<6, 3>(bytes), plus), to + 96);
}
// 32 bytes of nibbles: 32 weights, and 32 more.
inline void StoreNibbles(const uint8_t* qs, int8_t* to) {
  const __m256i bytes = Load256(qs);
  Store256(Fields<0, 15>(bytes), to);
  Store256(Fields<4, 15>(bytes), to + 32);
}
// kTo added to weight 32 b + l where byte l has bit b.
template <int kTo>
inline void AddBits(const uint8_t* bits, int8_t* to) {
  const __m256i bytes = Load256(bits), plus = _mm256_set1_epi8(kTo);
  for (int b = 0; b < 8; ++b) {
    const __m256i bit = _mm256_set1_epi8(static_cast<char>(1 << b));
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    Store256(_mm256_add_epi8(Load256(to + 32 * b), _mm256_and_si256(set, plus)), to + 32 * b);
  }
}

struct UnpackQ2_K : UnpackSuperBlock<BlockQ2_K, true> {
  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    const BlockQ2_K& block = Of(from);
    StorePairs(block.qs, 0, to->q);
    StorePairs(block.qs + 32, 0, to->q + 128);
    const __m256i both = _mm256_cvtepu8_epi16(Load128(block.scales));
    SetHalves(Half(block.d), _mm256_and_si256(both, _mm256_set1_epi16(15)), to->scale);
    SetHalves(Negative(Half(block.dmin)), _mm256_srli_epi16(both, 4), to->offset);
  }
};

struct UnpackQ3_K : UnpackSuperBlock<BlockQ3_K> {
  // Sixteen of six bits, 32 up (kernels/formats/k_quants.cc says what is where).
  static __m256i Scales(const uint8_t* from) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m128i nibbles =
        _mm_and_si128(_mm_unpacklo_epi64(low, _mm_srli_epi64(low, 4)), _mm_set1_epi8(15));
    const __m128i upper = _mm_srlv_epi32(_mm_set1_epi32(static_cast<int>(Load32(from + 8))),
                                         _mm_setr_epi32(0, 2, 4, 6));
    const __m128i six =
        _mm_or_si128(nibbles, _mm_slli_epi16(_mm_and_si128(upper, _mm_set1_epi8(3)), 4));
    return _mm256_cvtepi8_epi16(_mm_sub_epi8(six, _mm_set1_epi8(32)));
  }
  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    const BlockQ3_K& block = Of(from);
    // Minus four where the third bit is clear.
    StorePairs(block.qs, -4, to->q);
    StorePairs(block.qs + 32, -4, to->q + 128);
    AddBits<4>(block.hmask, to->q);
    SetHalves(Half(block.d), Scales(block.scales), to->scale);
  }
};

// Q4_K and Q5_K: six bits each (kernels/formats/k_quants.cc says what is where).
template <typename Block>
struct UnpackWithMinima : UnpackSuperBlock<Block, true> {
  static __m256 Floats(uint32_t first, uint32_t second) {
    const uint64_t eight = uint64_t{second} << 32 | first;
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(eight))));
  }
  static void SetScales(const Block& block, Unpacked* to) {
    const uint32_t a = Load32(block.scales), b = Load32(block.scales + 4),
                   c = Load32(block.scales + 8);
    const __m256 scales = Floats(a & 0x3f3f3f3f, (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030));
    const __m256 minima = Floats(b & 0x3f3f3f3f, (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030));
    SetBlocks(_mm256_mul_ps(UnpackWithMinima::Half(block.d), scales), to->scale);
    SetBlocks(Negative(_mm256_mul_ps(UnpackWithMinima::Half(block.dmin), minima)), to->offset);
  }
  static void Nibbles(const Block& block, Unpacked* to) {
    for (int i = 0; i < 4; ++i) StoreNibbles(block.qs + 32 * i, to->q + 64 * i);
  }
};
struct UnpackQ4_K : UnpackWithMinima<BlockQ4_K> {
  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    Nibbles(Of(from), to);
    SetScales(Of(from), to);
  }
};
struct UnpackQ5_K : UnpackWithMinima<BlockQ5_K> {
  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    Nibbles(Of(from), to);
    AddBits<16>(Of(from).qh, to->q);
    SetScales(Of(from), to);
  }
};

struct UnpackQ6_K : UnpackSuperBlock<BlockQ6_K> {
  static void Store(__m256i low, __m256i high, int8_t* to) {
    const __m256i six = _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
    Store256(_mm256_sub_epi8(six, _mm256_set1_epi8(32)), to);
  }
  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    const BlockQ6_K& block = Of(from);
    for (int half = 0; half < 2; ++half) {
      const __m256i even = Load256(block.ql + 64 * half), odd = Load256(block.ql + 64 * half + 32);
      const __m256i high = Load256(block.qh + 32 * half);
      int8_t* const q = to->q + 128 * half;
      Store(Fields<0, 15>(even), Fields<0, 3>(high), q);
      Store(Fields<0, 15>(odd), Fields<2, 3>(high), q + 32);
      Store(Fields<4, 15>(even), Fields<4, 3>(high), q + 64);
      Store(Fields<4, 15>(odd), Fields<6, 3>(high), q + 96);
    }
    SetHalves(Half(block.d), _mm256_cvtepi8_epi16(Load128(block.scales)), to->scale);
  }
};

struct UnpackIq4_Xs : UnpackSuperBlock<BlockIq4_Xs> {
  static void SetScales(const BlockIq4_Xs& block, Unpacked* to) {
    uint16_t upper;
    memcpy(&upper, block.scales_h, sizeof(upper));
    const __m256i low =
        _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(Load32(block.scales_l))),
                          _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    const __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(upper << 4),
                                           _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    const __m256i six = _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                                        _mm256_and_si256(high, _mm256_set1_epi32(0x30)));
    const __m256 scales = _mm256_cvtepi32_ps(_mm256_sub_epi32(six, _mm256_set1_epi32(32)));
    SetBlocks(_mm256_mul_ps(Half(block.d), scales), to->scale);
  }
  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    const BlockIq4_Xs& block = Of(from);
    for (int b = 0; b < 8; ++b) {
      Store256(LevelIq4(NibblesOf(block.qs + 16 * b)), to->q + 32 * b);
    }
    SetScales(block, to);
  }
};

struct UnpackTq2_0 : UnpackSuperBlock<BlockTq2_0> {
  static void Unpack(const uint8_t* from, uint32_t, Unpacked* to) {
    const BlockTq2_0& block = Of(from);
    StorePairs(block.qs, -1, to->q);
    StorePairs(block.qs + 32, -1, to->q + 128);
    SetBlocks(Half(block.d), to->scale);
  }
};

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_UNPACK_K_H_
