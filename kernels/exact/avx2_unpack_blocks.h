// The formats with a float scale for each few weights, for avx2_unpack.h.
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_UNPACK_BLOCKS_H_
#define BERTH_KERNELS_EXACT_AVX2_UNPACK_BLOCKS_H_

#include "kernels/exact/avx2_unpack.h"

namespace berth::kernels {
namespace {

// Blocks of 32, of which F gives: using Block; static __m256i Weights(const Block& block); static
// float D(const Block& block); with kWithMinima also static float Offset(const Block& block).
template <typename F, bool kWithMinima = false>
struct UnpackBlocksOf32 {
  using Block = typename F::Block;
  static constexpr uint32_t kElements = 32, kBytes = sizeof(Block);
  static constexpr bool kMinima = kWithMinima;

  static void Unpack(const uint8_t* from, uint32_t blocks, Unpacked* to) {
    for (uint32_t b = 0; b < blocks; ++b) {
      const Block& block = reinterpret_cast<const Block*>(from)[b];
      Store256(F::Weights(block), to->q + 32 * b);
      SetBlock(F::D(block), b, to->scale);
      if constexpr (kMinima) SetBlock(F::Offset(block), b, to->offset);
    }
  }
};

template <typename B>
struct WithHalf {
  using Block = B;
  static float D(const Block& block) { return LoadF16(block.d); }
};
template <typename B>
struct WithMinimum : WithHalf<B> {
  static float Offset(const B& block) { return LoadF16(block.m); }
};
inline __m256i FifthBits(const uint8_t* qh) {
  return _mm256_and_si256(SpreadBits(Load32(qh)), _mm256_set1_epi8(16));
}

struct UnpackQ8_0 : WithHalf<BlockQ8_0> {
  static __m256i Weights(const Block& block) { return Load256(block.qs); }
};
struct UnpackQ4_0 : WithHalf<BlockQ4_0> {
  static __m256i Weights(const Block& block) {
    return _mm256_sub_epi8(NibblesOf(block.qs), _mm256_set1_epi8(8));
  }
};
struct UnpackQ4_1 : WithMinimum<BlockQ4_1> {
  static __m256i Weights(const Block& block) { return NibblesOf(block.qs); }
};
struct UnpackQ5_0 : WithHalf<BlockQ5_0> {
  static __m256i Weights(const Block& block) {
    const __m256i weights = _mm256_or_si256(NibblesOf(block.qs), FifthBits(block.qh));
    return _mm256_sub_epi8(weights, _mm256_set1_epi8(16));
  }
};
struct UnpackQ5_1 : WithMinimum<BlockQ5_1> {
  static __m256i Weights(const Block& block) {
    return _mm256_or_si256(NibblesOf(block.qs), FifthBits(block.qh));
  }
};

inline __m256i Level(__m128i levels, __m256i nibbles) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(levels), nibbles);
}
// Facts of the format: github.com/ggml-org/ggml, src/ggml-common.h (kvalues_iq4nl).
inline __m256i LevelIq4(__m256i nibbles) {
  return Level(
      _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113),
      nibbles);
}
struct UnpackIq4_Nl : WithHalf<BlockIq4_Nl> {
  static __m256i Weights(const Block& block) { return LevelIq4(NibblesOf(block.qs)); }
};
// Twice the values (OCP Microscaling Formats v1.0); the scales are halved.
inline __m256i LevelE2m1(__m256i nibbles) {
  return Level(_mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12), nibbles);
}
struct UnpackMxfp4 {
  using Block = BlockMxfp4;
  static __m256i Weights(const Block& block) { return LevelE2m1(NibblesOf(block.qs)); }
  // Half of 2^(e - 127); the two least are denormals.
  static float D(const Block& block) {
    const uint32_t bits = block.e < 2 ? 0x00200000u << block.e : (block.e - 1u) << 23;
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
  }
};

struct UnpackNvfp4 {
  static constexpr uint32_t kElements = 64, kBytes = sizeof(BlockNvfp4);
  static constexpr bool kMinima = false;

  // Half of an unsigned E4M3: denormals in units of 2^-10; 0x7f reads as zero, the top bit not.
  static float HalfUe4m3(uint32_t code) {
    if (code == 0x7f) return 0.0f;
    const uint32_t bits = code & 0x7f;
    if (bits < 8) return static_cast<float>(bits) * 0x1p-10f;
    return _mm_cvtss_f32(_mm_castsi128_ps(
        _mm_cvtsi32_si128(static_cast<int>((bits << 20) + (uint32_t{119} << 23)))));
  }
  // The nibbles of 8 bytes are 16 weights: low nibbles first.
  static void Unpack(const uint8_t* from, uint32_t blocks, Unpacked* to) {
    for (uint32_t i = 0; i < blocks; ++i) {
      const auto& block = reinterpret_cast<const BlockNvfp4*>(from)[i];
      for (uint32_t part = 0; part < 2; ++part) {
        const __m256i nibbles = _mm256_permute4x64_epi64(NibblesOf(block.qs + 16 * part), 0xd8);
        Store256(LevelE2m1(nibbles), to->q + 64 * i + 32 * part);
      }
      for (uint32_t s = 0; s < 4; ++s) to->scale[4 * i + s] = HalfUe4m3(block.d[s]);
    }
  }
};

struct UnpackQ2_0 {
  static constexpr uint32_t kElements = 64, kBytes = sizeof(BlockQ2_0);
  static constexpr bool kMinima = false;

  // 16 bytes of four weights each: nibbles in order, then the two weights of each.
  static void UnpackOne(const BlockQ2_0& block, int8_t* to) {
    const __m128i first = _mm_setr_epi8(-1, 0, 1, 2, -1, 0, 1, 2, -1, 0, 1, 2, -1, 0, 1, 2);
    const __m128i second = _mm_setr_epi8(-1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2);
    const __m128i bytes = Load128(block.qs);
    const __m128i low = _mm_and_si128(bytes, _mm_set1_epi8(15));
    const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(15));
    const __m128i nibbles[2] = {_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high)};
    auto* const out = reinterpret_cast<__m128i*>(to);
    for (int i = 0; i < 2; ++i) {
      const __m128i even = _mm_shuffle_epi8(first, nibbles[i]);
      const __m128i odd = _mm_shuffle_epi8(second, nibbles[i]);
      _mm_store_si128(out + 2 * i, _mm_unpacklo_epi8(even, odd));
      _mm_store_si128(out + 2 * i + 1, _mm_unpackhi_epi8(even, odd));
    }
  }
  static void Unpack(const uint8_t* from, uint32_t blocks, Unpacked* to) {
    for (uint32_t i = 0; i < blocks; ++i) {
      const auto& block = reinterpret_cast<const BlockQ2_0*>(from)[i];
      UnpackOne(block, to->q + 64 * i);
      _mm_store_ps(to->scale + 4 * i, _mm_set1_ps(LoadF16(block.d)));
    }
  }
};

struct UnpackQ1_0 {
  static constexpr uint32_t kElements = 128, kBytes = sizeof(BlockQ1_0);
  static constexpr bool kMinima = false;

  static void Unpack(const uint8_t* from, uint32_t blocks, Unpacked* to) {
    for (uint32_t i = 0; i < blocks; ++i) {
      const auto& block = reinterpret_cast<const BlockQ1_0*>(from)[i];
      for (uint32_t j = 0; j < 4; ++j) {
        // 1 where the bit is set, -1 where it is not.
        const __m256i clear =
            _mm256_xor_si256(SpreadBits(Load32(block.qs + 4 * j)), _mm256_set1_epi8(-1));
        Store256(_mm256_or_si256(clear, _mm256_set1_epi8(1)), to->q + 128 * i + 32 * j);
      }
      _mm256_store_ps(to->scale + 8 * i, _mm256_set1_ps(LoadF16(block.d)));
    }
  }
};

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_UNPACK_BLOCKS_H_
